"""Which input and output of a network is what, where names leave no doubt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gapless.errors import DataError
from gapless.policies.policy_contract import Ports

MOTION = ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w")
"""Outputs by which a network hands out the reference motion that it holds."""
OBSERVATIONS = ("obs", "observation", "observations", "actor_obs", "policy", "input")
ACTIONS = ("actions", "action", "mean", "mu", "mean_actions", "output")
STEPS = ("time_step", "timestep", "step")
"""What other people call the inputs and outputs."""
ENDINGS = (
    *(("_in", "_out"), ("_prev", "_next"), ("0", "n")),
    *(("", "_out"), ("", "_next"), ("", "_new"), ("", "_n"), ("_t", "_t1"), ("x", "y")),
)
STARTS = (("in_", "out_"), ("prev_", "next_"), ("old_", "new_"), ("", "next_"), ("", "new_"))
"""How they name what a recurrent network remembers, before and after a step."""


def found_ports(
    inputs: Mapping[str, list], outputs: Mapping[str, list], ports: Ports, path: Path
) -> Ports:
    """Names that were left empty, where only one can be meant."""
    for name in (*ports.seen, ports.step, *ports.states):
        if name and name not in inputs:
            raise DataError(f"{path} has no input {name!r}; it has {', '.join(inputs)}")
    for name in (ports.action, *ports.states.values(), *ports.motion.values()):
        if name and name not in outputs:
            raise DataError(f"{path} has no output {name!r}; it has {', '.join(outputs)}")
    states = dict(ports.states) or _paired(inputs, outputs, ports)
    step = ports.step or next((n for n in inputs if n in STEPS), "")
    free = [n for n in inputs if n not in (*states, step)]
    motion = dict(ports.motion) or ({n: n for n in MOTION if n in outputs} if step else {})
    given = [n for n in outputs if n not in (*states.values(), *motion.values())]
    given = [n for n in given if not n.startswith("body_")] if motion else given
    observation = ports.observation or _only(free, OBSERVATIONS, "input", path)
    action = ports.action or _only(given, ACTIONS, "output", path)
    found = Ports(observation, action, states, step, motion)
    left = [n for n in free if n not in found.seen]
    if left:
        spare = ", ".join(n for n in given if n != action) or "none"
        raise DataError(
            f"{path} also wants {', '.join(left)}; say in [network] what it is: states = "
            f"{{ INPUT = OUTPUT }} of a recurrent network (outputs left: {spare}), step = INPUT, "
            "or observation = [INPUT, ...], which the observation fills one after another"
        )
    return found


def _only(names: list[str], usual: tuple[str, ...], what: str, path: Path) -> str:
    for name in (*usual, *(names if len(names) == 1 else ())):
        if name in names:
            return name
    role = "observation" if what == "input" else "action"
    raise DataError(
        f"{path} has {what}s {', '.join(names)}; say in [network] which is the {role}: "
        f"{role} = {what.upper()}"
    )


def _paired(
    inputs: Mapping[str, list], outputs: Mapping[str, list], ports: Ports
) -> dict[str, str]:
    """Inputs of a recurrent state and their outputs, by the usual names."""
    found = {}
    for name in inputs if len(inputs) > 1 else ():
        if name in (*OBSERVATIONS, *STEPS, *ports.seen, ports.step):
            continue
        others = [name.removesuffix(a) + b for a, b in ENDINGS if name.endswith(a)]
        others += [b + name.removeprefix(a) for a, b in STARTS if name.startswith(a)]
        other = next((o for o in others if o in outputs and o != ports.action), "")
        found |= {name: other} if other else {}
    return found
