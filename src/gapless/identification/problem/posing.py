"""From recordings and settings to the problem of explaining them by parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapless.errors import DataError, unknown
from gapless.identification.problem.problem import Problem
from gapless.identification.problem.simulator import Simulator
from gapless.identification.settings import BEGINNINGS, STARTS, IdentifySettings, matches
from gapless.measurement.windows import Windows, windows_of
from gapless.parameters import Parameter
from gapless.recordings.recording import Recordings
from gapless.worlds.mujoco_world import MujocoWorld

CANDIDATES = 8
"""Windows that the hardest are chosen from, for each that is fitted."""


def problem_of(
    settings: IdentifySettings,
    windows: Windows,
    world: MujocoWorld,
    parameters: Sequence[Parameter],
) -> Problem:
    """The problem of explaining windows by parameters.

    Args:
        settings: how the fit is made.
        windows: what must be explained.
        world: the nominal robot.
        parameters: what is unknown.
    """
    _refuse_unknown(settings)
    return Problem(
        world,
        parameters,
        windows,
        objective=settings.objective,
        # Exact slopes know no robust loss.
        loss="squared" if settings.optimiser == "gradient" else settings.loss,
        prior_weight=settings.prior_weight,
        boxes={k: v for k, v in settings.boxes.items() if matches(parameters, k)},
    )


def windows_to_fit(
    settings: IdentifySettings,
    recordings: Recordings,
    world: MujocoWorld,
    also: Sequence[tuple[int, int]] = (),
) -> Windows:
    """The windows of recordings that a fit explains.

    Args:
        settings: how long they are, and how many.
        recordings: what must be explained.
        world: the nominal robot.
        also: recording and first sample of windows beside those that are spread over them.
    """
    _refuse_unknown(settings)
    most = CANDIDATES * settings.windows if settings.hardest else settings.windows
    cut = windows_of(recordings, world.robot, settings.horizon, most, also=also)
    if settings.hardest and len(cut) > settings.windows:
        cut = cut[_chosen(cut, world, settings.windows, settings.hardest)]
    return cut


def _refuse_unknown(settings: IdentifySettings) -> None:
    if settings.starts not in STARTS:
        raise unknown("kind of starts", settings.starts, STARTS)
    if settings.begin not in BEGINNINGS:
        raise unknown("beginning", settings.begin, BEGINNINGS)
    if not 0 <= settings.hardest <= 1:
        raise DataError(f"hardest is {settings.hardest}; expected a share from 0 to 1")


def _chosen(cut: Windows, world: MujocoWorld, count: int, hardest: float) -> np.ndarray:
    """Windows that the nominal robot repeats worst, and the others evenly spread."""
    hard = round(hardest * count)
    played = Simulator(world, []).play(cut, np.zeros((1, 0)))
    error = (cut.weight * np.nan_to_num(played.q[0] - cut.real.q) ** 2).sum(axis=(1, 2))
    order = np.argsort(-error)
    rest = np.sort(order[hard:])
    even = rest[np.linspace(0, len(rest) - 1, count - hard).round().astype(int)]
    return np.sort(np.concatenate([order[:hard], even]))
