"""Which identified parameter, moved within its interval, costs a policy most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.corrections import CorrectedWorld
from gapless.errors import DataError
from gapless.evaluation.evaluating import scored
from gapless.evaluation.evaluation import Sensitivity, WorldScores
from gapless.evaluation.policy_episodes import play
from gapless.evaluation.scenario import Scenario
from gapless.evaluation.scenario_worlds import in_scenario
from gapless.identification import Calibration
from gapless.identification.estimate import Estimate
from gapless.motions.motion import Motion
from gapless.policies import Policy
from gapless.progress import ProgressReporter, Watch
from gapless.worlds.engine_world import EngineWorld

EPISODES, SECONDS = 16, 8.0
"""Of each trial, at most: there are two a parameter."""
MOST = 24
"""Parameters that are tried: identifiable ones whose interval is widest, by their prior's."""


def find_sensitivity(
    policy: Policy,
    raw: EngineWorld,
    corrected: CorrectedWorld,
    calibration: Calibration,
    scenario: Scenario,
    *,
    most: int = MOST,
    motion: Motion | None = None,
    watch: Watch | None = None,
) -> list[Sensitivity]:
    """Survival and error at both ends of parameters' intervals.

    Args:
        policy: whose survival it is.
        raw: the nominal world, which the calibration patches.
        corrected: that world with the calibration and corrections.
        calibration: the parameters and their intervals.
        scenario: the same commands and pushes as in the evaluation, fewer and shorter episodes.
        most: how many parameters are tried.
        motion: of a tracker.
        watch: told how many are done.
    """
    if not calibration.estimates:
        raise DataError("the calibration has no parameters to move")
    few = min(EPISODES, scenario.episodes), min(SECONDS, scenario.seconds)
    scenario = replace(scenario, episodes=few[0], seconds=few[1])

    def tried(values: dict[str, float]) -> WorldScores:
        robot, effects = calibration.with_values(values).apply(raw.robot, raw.effects)
        world = in_scenario(corrected.on(raw.variant(robot=robot, effects=effects)), scenario)
        return scored("", world, play(policy, world, scenario, motion=motion), motion)

    known = [e for e in calibration.estimates if e.identifiable] or list(calibration.estimates)
    chosen = sorted(known, key=_width)[::-1][:most]
    reporter = ProgressReporter(watch, "sensitivity", len(chosen))
    at, found = tried({}), []
    for k, estimate in enumerate(chosen, 1):
        ends = _ends(estimate)
        trials = [at, *(tried({estimate.name: end}) for end in ends)]
        found.append(
            Sensitivity(
                estimate.name,
                ends,
                tuple(t.survival for t in trials),  # type: ignore[arg-type]
                tuple(_error(t) for t in trials),  # type: ignore[arg-type]
            )
        )
        reporter.tell(k)
    return found


def _ends(estimate: Estimate) -> tuple[float, float]:
    low, high = estimate.interval
    return max(low, estimate.parameter.lower), min(high, estimate.parameter.upper)


def _width(estimate: Estimate) -> float:
    low, high = _ends(estimate)
    return (high - low) / max(estimate.parameter.prior_std, 1e-12)


def _error(scores: WorldScores) -> float:
    """Of a walker its velocity's, of a tracker its bodies'; 0 where neither is known."""
    for name in ("e_g_mpjpe", "velocity_error"):
        if name in scores.scores and np.isfinite(value := scores.mean(name)):
            return value
    return 0.0
