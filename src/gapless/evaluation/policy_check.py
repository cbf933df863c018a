"""check_policy(): does a contract fit robot and network, and does the policy work with it?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from gapless.evaluation.contract_variants import contract_variants
from gapless.evaluation.evaluating import scored
from gapless.evaluation.evaluation import WorldScores
from gapless.evaluation.policy_check_table import SIMULATED
from gapless.evaluation.policy_episodes import play
from gapless.evaluation.scenario import Scenario
from gapless.policies import Policy, PolicyContract
from gapless.policies.terms import KINDS
from gapless.printing import PrintsAsTables
from gapless.progress import ProgressReporter, Watch
from gapless.robots import Robot
from gapless.robots import names as built_in
from gapless.worlds.mujoco_world import MujocoWorld

Outcome = Literal["ok", "warning", "failed"]
DRAWS = 256
"""Random observations that the network is given."""
TRIAL = Scenario(episodes=8, seconds=6.0)
BETTER = 0.7
"""A variant with this share of the error, or less, is better than what the contract says."""
FAR = 8.0
"""Times a robot's own stiffness, or parts of it, that no policy for it states."""


@dataclass(frozen=True)
class PolicyCheck:
    """One thing that was looked at."""

    what: str
    outcome: Outcome
    said: str


@dataclass(frozen=True)
class PolicyReport(PrintsAsTables):
    """All that was looked at; ok where nothing failed."""

    policy: str
    robot: str
    checks: tuple[PolicyCheck, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(check.outcome != "failed" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"ok": self.ok, **asdict(self)}

    def __rich__(self) -> Any:
        from gapless.evaluation.policy_check_table import policy_check_table

        return policy_check_table(self)


def check_policy(
    policy: Policy, robot: Robot, *, simulate: bool = True, watch: Watch | None = None
) -> PolicyReport:
    """Look at names, units, gains and outputs, then run it, and the usual mistakes beside it.

    Args:
        policy: with its contract.
        robot: that it shall move, on its feet.
        simulate: also run it in the nominal simulator.
        watch: told how far that is.
    """
    checks = [*_names(policy, robot), *_numbers(policy, robot), *_outputs(policy), *_needs(policy)]
    if simulate and all(check.outcome != "failed" for check in checks):
        checks += _behaviour(policy, robot, watch)
    return PolicyReport(policy.name, robot.name, tuple(checks))


def _names(policy: Policy, robot: Robot) -> Iterator[PolicyCheck]:
    contract = policy.contract
    asked = [
        *contract.joints,
        *contract.hold,
        *(j for t in contract.terms.values() for j in t.joints),
    ]
    lacking = [j for j in dict.fromkeys(asked) if j not in robot.joints.names]
    if lacking:
        locked = [j for j in lacking if j in robot.locked]
        why = (
            f"locked: {', '.join(locked)}"
            if locked
            else f"{robot.name} has {len(robot.joints)} others"
        )
        yield PolicyCheck("joints", "failed", f"not on this robot: {', '.join(lacking)} ({why})")
        return
    if contract.robot not in ("", robot.name, robot.source) and contract.robot in built_in():
        said = f"the contract is of {contract.robot}, whose joints have the same names"
        yield PolicyCheck("robot", "warning", said)
    others = [j for j in robot.joints.names if j not in contract.joints]
    held = f"; {len(others)} others are held" if others else ""
    yield PolicyCheck("joints", "ok", f"{len(contract.joints)} joints by name{held}")
    width, takes = contract.width, policy.network.width
    yield PolicyCheck("observation", "ok", f"{width} numbers, the network takes {takes or 'any'}")


def _numbers(policy: Policy, robot: Robot) -> Iterator[PolicyCheck]:
    contract, joints = policy.contract, robot.joints
    if any(j not in joints.names for j in contract.joints):
        return
    columns = joints.pick(contract.joints)
    beyond = (contract.pose < joints.lower[columns] - 1e-6) | (
        contract.pose > joints.upper[columns] + 1e-6
    )
    yield _about("default pose", "within the limits", contract.joints, beyond, "beyond its limits")
    own = joints.kp[columns]
    odd = far_gains(np.array(contract.kp), own)
    yield _about(
        "gains", "near the robot's own", contract.joints, odd, "far from the robot's own", "warning"
    )
    yield symmetry_check(contract)
    step = contract.physics_step
    if step is not None:
        whole = 1 / (contract.rate * step)
        ok = abs(whole - round(whole)) < 1e-6
        said = f"{contract.rate:g} Hz is every {whole:.4g} physics steps of {1000 * step:g} ms"
        yield PolicyCheck(
            "rate", "ok" if ok else "failed", said if ok else f"{said}: not a whole number"
        )


def far_gains(asked: np.ndarray, own: np.ndarray) -> np.ndarray:
    """(J,) stiffnesses of a policy that no robot with these of its own was meant to have."""
    return (own > 0) & ((asked > FAR * own) | (asked < own / FAR))


def _about(
    what: str,
    good: str,
    names: tuple[str, ...],
    wrong: np.ndarray,
    bad: str,
    outcome: Outcome = "failed",
) -> PolicyCheck:
    if not wrong.any():
        return PolicyCheck(what, "ok", good)
    named = ", ".join(name for name, w in zip(names, wrong, strict=True) if w)
    return PolicyCheck(what, outcome, f"{bad}: {named}")


def symmetry_check(contract: PolicyContract) -> PolicyCheck:
    """Left and right have the same gains, scales and, but for the sign, default angles."""
    scale = np.broadcast_to(contract.action.scale, len(contract.joints))
    rows = np.stack([contract.kp, contract.kd, scale, np.abs(contract.pose)], axis=1)
    figures = dict(zip(contract.joints, rows, strict=True))
    odd = [
        joint
        for joint, mine in figures.items()
        if "left" in joint
        and (other := figures.get(joint.replace("left", "right"))) is not None
        and not np.allclose(mine, other, atol=1e-6)
    ]
    if odd:
        said = f"left and right differ in gains, scale or default angle: {', '.join(odd)}"
        return PolicyCheck("symmetry", "warning", f"{said}. Are the joints in the right order?")
    return PolicyCheck("symmetry", "ok", "left and right have the same gains, scales and angles")


def _outputs(policy: Policy) -> Iterator[PolicyCheck]:
    """Finite for anything a robot may see; which inputs the network does not look at."""
    contract, network = policy.contract, policy.network
    drawn = np.random.default_rng(0).normal(size=(DRAWS, contract.width))
    step = np.zeros(DRAWS, int)
    given, _ = network.run(drawn, network.blank(DRAWS), step)
    if given.shape != (DRAWS, len(contract.joints)):
        said = f"{given.shape[1:]} actions for {len(contract.joints)} joints"
        yield PolicyCheck("outputs", "failed", said)
        return
    finite = bool(np.isfinite(given).all())
    size = float(np.abs(given).max()) if finite else float("inf")
    said = f"finite, up to {size:.3g}" if finite else "not finite for ordinary observations"
    yield PolicyCheck("outputs", "ok" if finite else "failed", said)
    unseen = _unseen(policy, drawn[:8])
    if unseen:
        yield PolicyCheck("inputs", "warning", f"the network does not look at {', '.join(unseen)}")


def _unseen(policy: Policy, drawn: np.ndarray) -> list[str]:
    """Terms none of whose columns changes an action."""
    from gapless.policies.contract_columns import term_columns

    network, found = policy.network, []
    step, blank = np.zeros(len(drawn), int), network.blank(len(drawn))
    before, _ = network.run(drawn, blank, step)
    for name, columns in term_columns(policy.contract).items():
        moved = drawn.copy()
        moved[:, columns] += 0.5
        after, _ = network.run(moved, network.blank(len(drawn)), step)
        if np.allclose(before, after, atol=1e-7):
            found.append(name)
    return found


def _needs(policy: Policy) -> Iterator[PolicyCheck]:
    """What a robot's own sensors do not give."""
    hard = {
        term.name: need
        for term in policy.contract.terms.values()
        for need in KINDS[term.kind].needs
        if need in ("base_lin_vel_w", "base_pos")
    }
    if hard:
        named = ", ".join(f"{name} ({need})" for name, need in hard.items())
        yield PolicyCheck("sensors", "warning", f"an IMU and encoders do not give {named}")


def _behaviour(policy: Policy, robot: Robot, watch: Watch | None) -> Iterator[PolicyCheck]:
    world = MujocoWorld(robot, policy.contract.rate)
    variants = list(contract_variants(policy))
    reporter = ProgressReporter(watch, "in the nominal simulator", 1 + len(variants))
    told = scored("", world, play(policy, world, TRIAL))
    reporter.tell(1)
    stands = told.survival
    said = f"stands {100 * stands:.0f} % of {TRIAL.episodes} episodes, {_figures(told)}"
    yield PolicyCheck(SIMULATED, "ok" if stands >= 0.75 else "failed", said)
    for k, (name, variant) in enumerate(variants, 2):
        tried = scored("", world, play(variant, world, TRIAL))
        reporter.tell(k)
        if _clearly_better(tried, told):
            said = f"works better so: stands {100 * tried.survival:.0f} %, {_figures(tried)}"
            yield PolicyCheck(f"or {name}?", "failed", said)


def _figures(scores: WorldScores) -> str:
    names = ("velocity_error", "m/s off the command"), ("roughness", "rad/s change of targets")
    known = ((scores.mean(name), what) for name, what in names)
    return ", ".join(f"{value:.3g} {what}" for value, what in known if np.isfinite(value))


def _clearly_better(tried: WorldScores, told: WorldScores) -> bool:
    """It falls less; or, falling as little, follows the command and moves more gently."""
    if tried.survival < 0.5:
        return False
    if tried.survival != told.survival:
        return tried.survival > told.survival + 0.2
    pairs = [(t.mean("velocity_error"), t.mean("roughness")) for t in (tried, told)]
    (error, rough), (old_error, old_rough) = pairs
    if np.isfinite(error) and np.isfinite(old_error):
        return error < BETTER * old_error and rough < 1.2 * old_rough
    return rough < BETTER * old_rough and told.survival < 1
