"""Zero-shot transfer: an operator learned on one robot, used on another that was never recorded.

GAPONet's recipe: branch and trunk stay as they are, and only the sensor predictor is fitted again,
in the new robot's simulator. What it says of the new robot is in the units the branch learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.artifact import provenance
from gapless.corrections.operator.sensor_predictor import STATES, fit_sensors, has_sensors
from gapless.corrections.runtime.contract import Contract
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.envelope import Envelope
from gapless.corrections.training.training_windows import drawn_windows, recorded_signals
from gapless.errors import GaplessError, ModelError
from gapless.measurement.windows import Windows
from gapless.recordings.recording import Recording
from gapless.worlds.world import World

ENVELOPE_SECONDS = 0.2
"""Seconds of each window that an envelope is drawn around."""


def transferred(
    correction: Correction,
    world: World,
    recordings: Sequence[Recording] | None = None,
    *,
    payload: float | None = None,
    seed: int = 0,
) -> Correction:
    """The correction for another unit or robot, without learning from it.

    Args:
        correction: of an operator.
        world: of the new robot, calibrated, without corrections.
        recordings: of the new robot, where there are any: they say which states matter and where
            the result may be trusted. Nothing is learned from them.
        payload: heaviest load on each hand, kg; see `fit_sensors`.
        seed: of the states that are drawn.
    """
    if not has_sensors(correction) or "sensors.mean" not in correction.weights:
        raise GaplessError(
            "only an operator whose sensors were fitted in a simulator can be transferred; this is "
            f"a {correction.contract.model} ({correction.contract.settings or 'usual settings'}). "
            "Train one with --model operator"
        )
    contract = _moved(correction.contract, world)
    envelope, note = _envelope(correction, contract, world, recordings, seed)
    found = replace(
        correction,
        contract=contract,
        envelope=envelope,
        choose=None,
        test=None,
        made_by={**correction.made_by, **provenance(), "transferred": _from(correction, note)},
    )
    seconds = (contract.history + 1) / contract.rate
    windows = _windows(world, recordings, seconds, STATES // 2, seed)
    return fit_sensors(found, world, windows=windows, payload=payload, seed=seed)


def _moved(contract: Contract, world: World) -> Contract:
    """The contract on another robot: its joints take the places of the old ones, in order."""
    mine, theirs = contract.joints, world.robot.joints.names
    if len(mine) != len(theirs):
        raise ModelError(
            f"this correction is of {len(mine)} joints ({contract.robot}), {world.robot.name} has "
            f"{len(theirs)}; lock joints until the same ones move, in the same order"
        )
    found = contract.on(world)
    names = found.every_output
    found = replace(found, outputs=tuple(names[i] for i in contract.columns))
    found.require(world)
    return found


def _envelope(
    correction: Correction,
    contract: Contract,
    world: World,
    recordings: Sequence[Recording] | None,
    seed: int,
) -> tuple[Envelope | None, str]:
    old = correction.envelope
    if old is None:
        return None, "it had no envelope"
    windows = _windows(world, recordings, ENVELOPE_SECONDS, STATES, seed)
    if windows is not None:
        return _around(windows, old.signals), "its envelope is that of the new recordings"
    if contract.joints == correction.contract.joints:
        return old, "its envelope is the old one"
    return None, "its envelope was of other joints and is dropped"


def _around(windows: Windows, signals: tuple[str, ...]) -> Envelope:
    seen = recorded_signals(windows)
    seen["error"] = seen["target"] - seen["q"]
    steps = seen["q"].shape[:2]
    rows = {k: np.broadcast_to(seen[k], (*steps, seen[k].shape[-1])) for k in signals}
    return Envelope.around({k: v.reshape(-1, v.shape[-1]) for k, v in rows.items()}, signals)


def _windows(
    world: World, recordings: Sequence[Recording] | None, seconds: float, limit: int, seed: int
) -> Windows | None:
    if not recordings:
        return None
    return drawn_windows(recordings, world.robot, seconds, limit, seed)


def _from(correction: Correction, note: str) -> dict[str, str]:
    return {
        "from": correction.fingerprint(),
        "robot": correction.contract.robot,
        "note": f"branch and trunk are as learned, the sensors are of the new simulator; {note}",
    }
