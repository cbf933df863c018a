"""How well the base of a standing robot is known from its joints alone, on hidden robots.

Hidden G1s squat and sway on the floor under feedback. Their logs are stripped to joint positions
and commands; the base estimated from the feet is compared with where it really was, and so are
replays in the nominal simulator, started from either.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gapless.measurement.alignment import in_robot_order
from gapless.measurement.base_estimate import BaseEstimate, describe
from gapless.measurement.judge import replay_error
from gapless.motions.balance import Balance
from gapless.motions.standing import stand, sway
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.robots.rotations import conj, rotate
from gapless.worlds import HiddenWorld, MujocoWorld
from gapless.worlds.hidden.true_state import true_state
from gapless.worlds.world import State

UPWARD = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Errors:
    """Of the estimated base of some recordings, all samples together.

    Attributes:
        height: |error| of the height, median and 95 %, mm.
        drift: distance from where it really was, from the first sample on, mm.
        tilt: angle between the estimated and the true up, deg.
        speed: |error| of the velocity, mm/s.
        true: replay error from the true base, mrad.
        estimated: replay error from the estimated base, mrad.
    """

    height: tuple[float, float]
    drift: tuple[float, float]
    tilt: tuple[float, float]
    speed: tuple[float, float]
    true: float
    estimated: float


class Watched:
    """A hidden world that remembers its true states."""

    def __init__(self, world: HiddenWorld) -> None:
        self._world, self.states = world, list[State]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def reset(self, state: State, **options: Any) -> State:
        """Begin anew."""
        begun = self._world.reset(state, **options)
        self.states = [true_state(self._world)]
        return begun

    def step(self, targets: np.ndarray) -> State:
        """As the world does."""
        after = self._world.step(targets)
        self.states.append(true_state(self._world))
        return after


def recordings_of(robot: Robot, world: HiddenWorld, seconds: float) -> list[Recording]:
    """Standing motions with the true base, joints as they were logged."""
    motions = [stand(robot, seconds, seed=s) for s in range(2)]
    motions += [sway(robot, seconds, seed=s) for s in range(2)]
    targets = np.stack([motion.targets(robot, robot.rate) for motion in motions])
    watched = Watched(world)
    seen, commands = Balance(robot).play(watched, targets)  # type: ignore[arg-type]
    true = State.stack(watched.states[: targets.shape[1]], axis=1)
    names = ("base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b")
    return [
        Recording(
            name=motion.name,
            joints=robot.joints.names,
            rate=world.rate,
            q=seen.q[i, :-1],
            target=commands[i],
            mask=np.ones(commands[i].shape, bool),
            channels={name: getattr(true, name)[i] for name in names},
        )
        for i, motion in enumerate(motions)
    ]


def errors_of(clips: Sequence[Recording], robot: Robot, horizon: float) -> Errors:
    """The estimated base of these recordings against the one they have."""
    bare = [replace(clip, channels={}) for clip in clips]
    found = [estimate_of(clip, robot) for clip in bare]
    world = MujocoWorld(robot, clips[0].rate)
    pairs = [_compared(e, clip) for e, clip in zip(found, clips, strict=True)]
    print(describe([estimate.quality for estimate in found]))
    return Errors(
        *(_spread(np.concatenate(parts)) for parts in zip(*pairs, strict=True)),
        true=1e3 * replay_error(clips, world, horizon),
        estimated=1e3 * replay_error(bare, world, horizon),
    )


def estimate_of(clip: Recording, robot: Robot) -> BaseEstimate:
    """As a replay would have it."""
    estimate = in_robot_order(clip, robot).estimate
    assert estimate is not None
    return estimate


def _compared(estimate: BaseEstimate, clip: Recording) -> tuple[np.ndarray, ...]:
    """(T,) errors: height (mm), place (mm), tilt (deg), velocity (mm/s)."""
    true, turned = clip.channels, clip.channels["base_quat_wxyz"]
    facing = _heading(turned[:1]) - _heading(estimate.base_quat_wxyz[:1])
    moved = (
        true["base_pos"]
        - estimate.base_pos[:1]
        - _turned(estimate.base_pos - estimate.base_pos[:1], facing)
    )
    up, felt = (rotate(conj(quat), UPWARD) for quat in (turned, estimate.base_quat_wxyz))
    speed = true["base_lin_vel_w"] - _turned(estimate.base_lin_vel_w, facing)
    return (
        1e3 * np.abs(true["base_pos"][:, 2] - estimate.base_pos[:, 2]),
        1e3 * np.linalg.norm((moved - moved[:1])[:, :2], axis=1),
        np.degrees(np.linalg.norm(up - felt, axis=1)),
        1e3 * np.linalg.norm(speed, axis=1),
    )


def _heading(quat: np.ndarray) -> np.ndarray:
    ahead = rotate(quat, np.array([1.0, 0.0, 0.0]))
    return np.arctan2(ahead[:, 1], ahead[:, 0])


def _turned(vectors: np.ndarray, heading: np.ndarray) -> np.ndarray:
    half = np.concatenate([np.cos(heading / 2), [0.0, 0.0], np.sin(heading / 2)])
    return rotate(half, vectors)


def _spread(values: np.ndarray) -> tuple[float, float]:
    return float(np.nanmedian(values)), float(np.nanquantile(values, 0.95))


def main() -> None:
    """Print a line a unit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="g1")
    parser.add_argument("--preset", default="typical")
    parser.add_argument("--units", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--horizon", type=float, default=0.5)
    parser.add_argument("--without", nargs="*", default=[], help="effects to switch off")
    args = parser.parse_args()
    robot = Robot.load(args.robot, mount="free")
    from gapless.worlds.hidden.effect_sizes import EFFECTS

    only = [name for name in EFFECTS if name not in args.without] if args.without else None
    print("unit  " + "  ".join(field.name for field in fields(Errors)))
    for unit in range(1, args.units + 1):
        world = HiddenWorld(robot, args.preset, unit, only=only)
        found = errors_of(recordings_of(robot, world, args.seconds), robot, args.horizon)
        cells = [getattr(found, field.name) for field in fields(Errors)]
        told = [f"{c:.3f}" if isinstance(c, float) else "{:.2f}/{:.2f}".format(*c) for c in cells]
        print(f"{unit:4}  " + "  ".join(told), flush=True)


if __name__ == "__main__":
    main()
