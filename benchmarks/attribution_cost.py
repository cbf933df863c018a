"""What likely causes cost beside the measuring they are asked for with.

Baseline: `measure` without causes, on the same recordings in the same run. A hidden robot
(`typical`) moves its arms, and squats and sways on the floor with and without a base in its log.
Prints the seconds of one processor that each takes, their ratio, and how many replays that was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from base_from_feet import recordings_of

from gapless.measurement import Attribution, attribute, measure
from gapless.motions.excitation import multisine
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import HiddenWorld, MujocoWorld
from gapless.worlds.record import record


class Counted(MujocoWorld):
    """A world that counts rollouts, those of its variants too."""

    rollouts = 0

    def rollout(self, *args: Any, **options: Any) -> Any:
        """As usual."""
        Counted.rollouts += 1
        return super().rollout(*args, **options)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of one call, and what it gives: a neighbour's load does not count."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def arms(clips: int, seconds: float) -> tuple[Robot, list[Recording]]:
    """A G1 with its pelvis fixed moves its arms."""
    robot = Robot.load("g1", mount="fixed", lock=["legs", "waist"])
    world = HiddenWorld(robot, "typical", 1)
    motions = [multisine(robot, seconds, world.rate, seed=s) for s in range(clips)]
    start = MujocoWorld(robot).home()
    return robot, [record(world, m, f"m{i}", start=start) for i, m in enumerate(motions)]


def standing(seconds: float) -> tuple[Robot, list[Recording]]:
    """A G1 squats and sways on the floor."""
    robot = Robot.load("g1", mount="free")
    return robot, recordings_of(robot, HiddenWorld(robot, "typical", 1), seconds)


def compare(name: str, robot: Robot, clips: list[Recording]) -> None:
    """One line: both times, and their ratio."""
    world = Counted(robot, clips[0].rate)
    plain, _ = timed(lambda: measure(clips, world))
    Counted.rollouts = 0
    causes, found = timed(lambda: attribute(clips, world))
    print(
        f"{name}: measuring {plain:.1f} s, causes {causes:.1f} s, ratio {causes / plain:.2f}, "
        f"{Counted.rollouts} replays of {found.windows} windows: {_told(found)}",
        flush=True,
    )


def _told(found: Attribution) -> str:
    shares = sorted(found.overall.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= 0.005)


def main() -> None:
    """Print a line for each kind of recording."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=6.0)
    args = parser.parse_args()
    compare("arms", *arms(args.clips, args.seconds))
    robot, clips = standing(args.seconds)
    compare("on the floor, base logged", robot, clips)
    compare("on the floor, base estimated", robot, [replace(c, channels={}) for c in clips])


if __name__ == "__main__":
    main()
