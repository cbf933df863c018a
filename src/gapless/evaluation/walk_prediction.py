"""Predict the walk: how fast a policy walks in simulators, against how fast the robot walked.

Only commands that the simulators did not learn from say anything; the others are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapless.errors import DataError
from gapless.evaluation.episode_recordings import asked, episode_recordings, in_numbers
from gapless.evaluation.evaluating import play_worlds
from gapless.evaluation.policy_episodes import Episodes
from gapless.evaluation.scenario import Scenario
from gapless.evaluation.walking_velocity import UNSTEADY, Walked, walked
from gapless.policies import Policy
from gapless.printing import PrintsAsTables
from gapless.progress import Watch
from gapless.recordings.motion_identity import Asked
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds.world import World

AXES = ("vx", "vy", "wz")
NAMED = 3
"""Motions that a message names."""
Velocity = tuple[float, float, float]


@dataclass(frozen=True)
class PredictedWalk:
    """One command of the log.

    Attributes:
        motion: what was asked in the whole recording.
        unit: of the robot.
        command: of this part of it.
        robot: vx, vy, wz of the robot, m/s and rad/s; the mean of its takes.
        robot_std: standard deviation of its takes; None of a single one.
        takes: recordings of the robot.
        simulated: world -> the same there; of a policy that fell before it walked steadily, zeros.
        fell: world -> share of its episodes that did.
    """

    motion: str
    unit: str | None
    command: tuple[float, ...]
    robot: Velocity
    robot_std: Velocity | None
    takes: int
    simulated: Mapping[str, Velocity]
    fell: Mapping[str, float]


@dataclass(frozen=True)
class WalkPrediction(PrintsAsTables):
    """Walking velocities that simulators predicted, beside those of the robot.

    Attributes:
        policy: its name.
        walks: a row a command.
        base: whether the robot's base was "logged" or "estimated" from its feet.
        left_out: commands that taught or chose, and are not reported.
        seconds: of steady walking on the robot.
    """

    policy: str
    walks: tuple[PredictedWalk, ...]
    base: str
    left_out: tuple[str, ...]
    seconds: float

    @property
    def errors(self) -> dict[str, Velocity]:
        """World -> mean distance of its vx, vy, wz from the robot's, over commands."""
        robot = np.array([walk.robot for walk in self.walks])
        return {
            world: _numbers(
                np.abs(np.array([walk.simulated[world] for walk in self.walks]) - robot).mean(0)
            )
            for world in self.walks[0].simulated
        }

    @property
    def floor(self) -> Velocity | None:
        """The mean error that a perfect simulator would still show: the robot's takes differ.

        A walk is chaotic, so a few seconds say its mean only so well; None where a command has one
        take, of which nobody knows how well.
        """
        known = [walk for walk in self.walks if walk.robot_std is not None]
        if len(known) < len(self.walks):
            return None
        errors = [np.array(walk.robot_std) / np.sqrt(walk.takes) for walk in known]
        return _numbers(np.sqrt(2 / np.pi) * np.mean(errors, axis=0))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        errors = {world: dict(zip(AXES, e, strict=True)) for world, e in self.errors.items()}
        floor = dict(zip(AXES, self.floor, strict=True)) if self.floor else None
        return {"errors": errors, "floor": floor, **asdict(self)}

    def __rich__(self) -> Any:
        from gapless.evaluation.walk_prediction_table import walk_prediction_tables

        return walk_prediction_tables(self)


def predict_walks(
    policy: Policy,
    worlds: Mapping[str, World],
    recordings: Iterable[Recording],
    *,
    taught: Collection[str] = (),
    episodes: int = 64,
    seed: int = 0,
    watch: Watch | None = None,
) -> WalkPrediction:
    """Play the commands of a log in simulators, and compare how fast the policy walks.

    Args:
        policy: that the log is of.
        worlds: name -> simulator; `Run.worlds()` gives those of a run.
        recordings: of the robot under this policy.
        taught: motions that the simulators were learned from or chosen by (`Run.taught`).
        episodes: at least so many in each simulator, every command equally often.
        seed: of their starts.
        watch: told the world and how far it is.
    """
    log, left_out = untaught(recordings, policy, taught)
    scenario = scenario_of(log, policy, episodes, seed)
    played = play_worlds(policy, worlds, scenario, watch)
    return compare_walks(policy, log, played, scenario, left_out)


def untaught(
    recordings: Iterable[Recording], policy: Policy, taught: Collection[str]
) -> tuple[list[Recording], tuple[str, ...]]:
    """Recordings that neither taught nor chose, and the motions of the others.

    Raises:
        DataError: they are of another policy, or none is left.
    """
    log = list(recordings)
    if others := {r.conditions.policy for r in log} - {policy.name, None}:
        raise DataError(
            f"the log is of {', '.join(map(str, others))}, not of {policy.name!r}; give recordings "
            "of the robot under this policy (gapless collect --policy makes some)"
        )
    kept = [r for r in log if Asked.by(r).stated not in taught]
    left_out = tuple(dict.fromkeys(r.name for r in log if Asked.by(r).stated in taught))
    if not kept:
        raise DataError(
            f"all {len(left_out)} commands of the log ({', '.join(left_out[:NAMED])}, ...) taught "
            "or chose, so a prediction of them would mean nothing; record others"
        )
    return kept, left_out


def scenario_of(
    log: Sequence[Recording], policy: Policy, episodes: int = 64, seed: int = 0
) -> Scenario:
    """The commands and the loads of a log, every command equally often.

    Raises:
        DataError: the names of its recordings say no commands, or its loads differ.
    """
    commands = dict.fromkeys(_asked_of(recording, policy) for recording in log)
    loads = {tuple(sorted(_masses(recording).items())) for recording in log}
    if len(loads) > 1:
        raise DataError("the log is of several payloads; predict the walks of one at a time")
    return Scenario(
        episodes=len(commands) * -(-episodes // len(commands)),
        seconds=max(recording.duration for recording in log),
        commands=tuple(commands),
        payloads=dict(loads.pop()),
        seed=seed,
    )


def says_commands(log: Sequence[Recording], policy: Policy) -> bool:
    """Whether the names of recordings, and there are some, say what the policy was asked."""
    return bool(log) and all(_said(recording, policy) is not None for recording in log)


def _said(recording: Recording, policy: Policy) -> tuple[tuple[float, ...], ...] | None:
    found = in_numbers(recording.name)
    widths = [len(command.lower) for command in policy.contract.commands.values()]
    return found if found is not None and widths == [len(found[0])] else None


def _asked_of(recording: Recording, policy: Policy) -> tuple[float, ...]:
    found = _said(recording, policy)
    if found is None:
        raise DataError(
            f"recording {recording.name!r} does not say what {policy.name!r} was asked; expected "
            "a name such as 'velocity 0.5 0 0'"
        )
    return tuple(number for command in found for number in command)


def _masses(recording: Recording) -> dict[str, float]:
    return {link: load.mass for link, load in (recording.conditions.payloads or {}).items()}


def compare_walks(
    policy: Policy,
    log: Sequence[Recording],
    played: Mapping[str, Episodes],
    scenario: Scenario,
    left_out: tuple[str, ...] = (),
) -> WalkPrediction:
    """The robot's velocities beside those of episodes under the same commands."""
    robot = next(iter(played.values())).robot
    real: dict[tuple[str | None, str, int], list[Walked]] = {}
    for recording in log:
        for part, own in walked(recording, robot).items():
            real.setdefault((recording.conditions.unit, recording.name, part), []).append(own)
    simulated = {
        world: _simulated(episodes, policy, scenario, robot) for world, episodes in played.items()
    }
    shared = set.intersection(*(set(own.counts) for own in simulated.values()))
    rows = [_row(key, own, simulated) for key, own in real.items() if key[1] in shared]
    if not rows:
        raise DataError(
            f"no command of the log was followed for more than {UNSTEADY + 1:g} s by the robot and "
            "asked in the simulators; record longer walks"
        )
    every = [one for (_, motion, _), own in real.items() if motion in shared for one in own]
    base = "estimated" if any(one.base == "estimated" for one in every) else "logged"
    return WalkPrediction(
        policy.name, tuple(rows), base, left_out, sum(one.seconds for one in every)
    )


@dataclass(frozen=True)
class _Simulated:
    """One world: motion -> number of episodes, and (motion, part) -> velocities."""

    counts: Mapping[str, int]
    velocities: Mapping[tuple[str, int], list[Velocity]]


def _simulated(episodes: Episodes, policy: Policy, scenario: Scenario, robot: Robot) -> _Simulated:
    names = [asked(episodes, row) for row in range(len(episodes.fell))]
    found: dict[tuple[str, int], list[Velocity]] = {}
    for recording in episode_recordings(episodes, policy.contract, scenario):
        for part, own in walked(recording, robot).items():
            found.setdefault((recording.name, part), []).append(own.velocity)
    return _Simulated({name: names.count(name) for name in names}, found)


def _row(
    key: tuple[str | None, str, int], real: Sequence[Walked], worlds: Mapping[str, _Simulated]
) -> PredictedWalk:
    unit, motion, part = key
    mean, fell = {}, {}
    for world, own in worlds.items():
        known = own.velocities.get((motion, part), [])
        lost = own.counts[motion] - len(known)
        mean[world] = _numbers(np.mean([*known, *[(0.0, 0.0, 0.0)] * lost], axis=0))
        fell[world] = lost / own.counts[motion]
    each = np.array([one.velocity for one in real])
    std = _numbers(each.std(axis=0, ddof=1)) if len(each) > 1 else None
    robot = _numbers(each.mean(axis=0))
    return PredictedWalk(motion, unit, real[0].command, robot, std, len(each), mean, fell)


def _numbers(values: np.ndarray) -> Velocity:
    vx, vy, wz = (float(v) for v in values)
    return vx, vy, wz
