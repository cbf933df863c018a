"""A correction before training: its contract, its normalisation, its envelope, small weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gapless.corrections.linearised.one_step import smoothed, state_targets
from gapless.corrections.models.model import columns_of_joints
from gapless.corrections.runtime.contract import HEADS, Contract
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.envelope import Envelope, watched
from gapless.corrections.runtime.network import Network
from gapless.corrections.runtime.signals import refuse_impossible
from gapless.corrections.runtime.state_columns import MOTION, state_outputs
from gapless.corrections.training.task import Task
from gapless.corrections.training.training_windows import recorded_signals
from gapless.errors import DataError, unknown
from gapless.measurement.windows import Windows
from gapless.robots import Robot
from gapless.worlds.world import World

TARGET_BOUND = 0.3
"""Largest change of a target, rad."""

TORQUE_BOUND = 0.3
"""Largest change of a torque, as a share of the motor's limit."""

STATE_BOUND = 6.0
"""Largest change of a state, in standard deviations of what one step of the world gets wrong."""

LEAST_STATE_BOUND = 1e-4, 1e-3
"""Least change that a bound allows: of positions (m, rad) and of velocities (m/s, rad/s)."""

NORMALISED = 400
"""Windows that the inputs are normalised by."""


def contract_for(
    world: World,
    rate: float,
    *,
    model: str = "operator",
    settings: dict[str, Any] | None = None,
    head: str = "action",
    joints: str | tuple[str, ...] = "all",
    bound: float | None = None,
    rate_limit: float | None = None,
    hold: int = 1,
    members: int = 1,
) -> Contract:
    """The contract of a correction of a world."""
    if head not in HEADS:
        raise unknown("head", head, HEADS)
    robot, identity = world.robot, world.identity
    outputs = corrected_joints(robot, joints)
    if head == "state":
        outputs = state_outputs(robot.joints.names, outputs, robot.mount == "free")
    found = Contract(
        robot=identity.robot,
        model_hash=identity.model_hash,
        effects_hash=identity.effects_hash,
        joints=robot.joints.names,
        rate=float(rate),
        head=head,
        outputs=outputs,
        model=model,
        settings=dict(settings or {}),
        bound=_bounds(robot, head, outputs, bound),
        rate_limit=rate_limit,
        hold=hold,
        members=members,
    )
    refuse_impossible(found.signals, robot)
    if head == "state" and getattr(found.network, "local", found.network.joint_by_joint):
        raise DataError(
            f"the {model} answers joint by joint, which a change of state is not; use --model mlp"
        )
    return found


def corrected_joints(robot: Robot, which: str | tuple[str, ...]) -> tuple[str, ...]:
    """Joints by name or group, in the robot's order."""
    asked = (which,) if isinstance(which, str) else which
    if asked == ("all",):
        return robot.joints.names
    chosen = {j for name in asked for j in robot.joint_groups.get(name, (name,))}
    for name in chosen - set(robot.joints.names):
        raise unknown("joint or group", name, (*robot.joints.names, *robot.joint_groups))
    return tuple(j for j in robot.joints.names if j in chosen)


def _bounds(
    robot: Robot, head: str, outputs: tuple[str, ...], bound: float | None
) -> tuple[float, ...]:
    if head != "torque":
        usual = TARGET_BOUND if head == "action" else STATE_BOUND
        return (usual if bound is None else bound,) * len(outputs)
    limits = np.array([robot.joints.effort[robot.joints.index(j)] for j in outputs])
    if not np.isfinite(limits).all() and bound is None:
        raise DataError("a motor has no torque limit, so a torque needs a --bound (share of 1 N·m)")
    share = TORQUE_BOUND if bound is None else bound
    return tuple((share * np.where(np.isfinite(limits), limits, 1.0)).tolist())


def _state_bounds(contract: Contract, task: Task) -> tuple[float, ...]:
    """The bounds of a contract, which are in deviations, in the units of the state."""
    smooth = replace(task, learn=smoothed(task.learn))
    windows = smooth.windows(min(task.horizon, 1.0), NORMALISED, -1)
    wrong = state_targets(task.world, windows, contract.columns).output
    fast = np.array([n.startswith(("dq:", *MOTION)) for n in contract.outputs])
    size = np.array(contract.bound) * wrong.std(axis=(0, 1))
    return tuple(np.maximum(size, np.where(fast, *LEAST_STATE_BOUND[::-1])).tolist())


def untrained(contract: Contract, task: Task, seed: int = 0) -> Correction:
    """Small weights, normalised by the task's recorded signals."""
    rng = np.random.default_rng(seed)
    windows = task.windows(min(task.horizon, 1.0), NORMALISED, -1)
    _refuse_unknown_payload(contract, windows)
    if contract.head == "state":
        contract = replace(contract, bound=_state_bounds(contract, task))
    network = Network(contract)
    samples = _samples(network, windows)
    weights = network.model.initial(contract.widths, len(contract.outputs), contract.members, rng)
    for name, rows in samples["inputs"].items():
        mean, variance = _pooled(contract, name, rows.mean(axis=0), rows.var(axis=0))
        weights[f"{name}.mean"] = mean
        weights[f"{name}.deviation"] = np.maximum(np.sqrt(variance), 1e-3)
    around = Envelope.of_each_joint if network.model.joint_by_joint else Envelope.around
    envelope = around(samples["signals"], watched(contract.signals))
    single = {k: np.asarray(v, np.float32) for k, v in weights.items()}
    return Correction(contract, single, envelope)


def _pooled(
    contract: Contract, name: str, mean: np.ndarray, variance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of an input's columns; joints that share a network have theirs in common.

    So that the same error, rad, is the same number to the network whichever joint has it: a motor
    that answers too weakly does so in every joint, however far each of them moved.
    """
    share = np.array(getattr(contract.network, "share", None) or ())
    if not len(share):
        return mean, variance
    columns = columns_of_joints(contract.network.inputs[name], len(mean))
    for number in {*share[contract.columns].tolist()}:
        own = columns[[c for c in contract.columns if share[c] == number]]
        common = mean[own].mean(axis=0)
        variance[own] = (variance[own] + (mean[own] - common) ** 2).mean(axis=0)
        mean[own] = common
    return mean, variance


def _refuse_unknown_payload(contract: Contract, windows: Windows) -> None:
    silent = sum(c.payload_mass is None for c in windows.conditions)
    if "payload" in contract.signals and silent:
        raise DataError(
            f"the {contract.model} looks at the payload, which {silent} of {len(windows)} windows "
            "do not state; import with the payload stated, or pass --no-payload "
            "(model_settings payload=False)"
        )


def _samples(network: Network, windows: Windows) -> dict[str, Any]:
    """Rows of every input, and of the signals, over the recorded windows."""
    recorded = recorded_signals(windows)
    steps, memory = recorded["q"].shape[1], None
    inputs: dict[str, list[np.ndarray]] = {}
    rows: dict[str, list[np.ndarray]] = {}
    for t in range(steps):
        now = {k: v[:, min(t, v.shape[1] - 1)] for k, v in recorded.items()}
        full = network.completed(now, memory)
        memory = memory or network.begun(full, len(windows))
        for name, columns in network.gathered(full, memory).items():
            inputs.setdefault(name, []).append(columns)
        for name, columns in full.items():
            rows.setdefault(name, []).append(columns)
        memory = memory.after(full, memory.output, memory.hidden)
    joined = {k: np.concatenate(v) for k, v in inputs.items()}
    return {"inputs": joined, "signals": {k: np.concatenate(v) for k, v in rows.items()}}
