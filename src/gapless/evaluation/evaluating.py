"""evaluate(): a policy in several worlds, under the same commands, pushes and starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from gapless.errors import DataError
from gapless.evaluation.episode_scores import joint_peaks, score_episodes
from gapless.evaluation.evaluation import Evaluation, WorldScores
from gapless.evaluation.falls import find_falls
from gapless.evaluation.policy_episodes import Episodes, play
from gapless.evaluation.scenario import Scenario
from gapless.evaluation.scenario_worlds import in_scenario
from gapless.evaluation.tracking_errors import tracking_errors
from gapless.motions.motion import Motion
from gapless.policies import Policy
from gapless.progress import Watch
from gapless.worlds.world import World


def evaluate(
    policy: Policy,
    worlds: Mapping[str, World] | World,
    scenario: Scenario | None = None,
    *,
    motion: Motion | None = None,
    watch: Watch | None = None,
) -> Evaluation:
    """Many episodes of a policy in each world.

    Args:
        policy: ours or other people's.
        worlds: name -> world, the raw one first; `Run.worlds()` gives those of a run.
        scenario: commands, pushes, loads, floor; 64 episodes of 20 s by default.
        motion: what a tracker follows, for its errors.
        watch: told the world and how far it is.
    """
    scenario = scenario or Scenario()
    named = worlds if isinstance(worlds, Mapping) else {"raw": worlds}
    return judge_episodes(
        policy, named, play_worlds(policy, named, scenario, watch, motion), scenario, motion
    )


def play_worlds(
    policy: Policy,
    worlds: Mapping[str, World],
    scenario: Scenario,
    watch: Watch | None = None,
    motion: Motion | None = None,
) -> dict[str, Episodes]:
    """The same scenario in every world; a tracker begins where its motion does."""
    if not worlds:
        raise DataError("there is no world to evaluate in")
    return {
        name: play(
            policy,
            in_scenario(world, scenario),
            scenario,
            watch,
            f"{policy.name}, {name} simulator",
            motion=motion,
        )
        for name, world in worlds.items()
    }


def judge_episodes(
    policy: Policy,
    worlds: Mapping[str, World],
    played: Mapping[str, Episodes],
    scenario: Scenario,
    motion: Motion | None = None,
) -> Evaluation:
    """The numbers of episodes that were played, side by side."""
    return Evaluation(
        policy=policy.name,
        robot=next(iter(worlds.values())).robot.name,
        scenario=scenario,
        worlds=tuple(scored(name, worlds[name], own, motion) for name, own in played.items()),
        notes=policy.contract.notes,
    )


def scored(
    name: str, world: World, episodes: Episodes, motion: Motion | None = None
) -> WorldScores:
    """The numbers of episodes."""
    scores = score_episodes(episodes)
    if motion is not None:
        scores |= tracking_errors(episodes, motion)
    ended = np.minimum(episodes.fell, episodes.steps) / episodes.rate
    return WorldScores(
        world=name,
        identity=asdict(world.identity),
        survived=tuple(map(bool, episodes.survived)),
        seconds=tuple(map(float, ended)),
        commands=_asked(episodes),
        scores={k: tuple(_plain(v) for v in values) for k, values in scores.items()},
        peaks=joint_peaks(episodes),
        falls=tuple(find_falls(episodes)),
    )


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _asked(episodes: Episodes) -> tuple[str, ...]:
    """What each episode was asked first."""
    if not episodes.commands:
        return ("",) * len(episodes.fell)
    first = next(iter(episodes.commands.values()))[:, 0]
    return tuple(" ".join(f"{v:g}" for v in row) for row in np.round(first, 3))
