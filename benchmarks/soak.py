"""The control loop for a long time, over UDP and over DDS, with a fault every few seconds.

Every fault must end in the action of its check at the very control step at which it can be seen;
no command beyond a limit may ever arrive at the robot (it judges them itself, in its own process);
memory stays flat, and every recording is whole.

    python benchmarks/soak.py --minutes 3 --json soak.json
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from soak_robot import live

from gapless.deployment.control_loop import ControlLoop
from gapless.deployment.flight_recorder import FlightRecorder
from gapless.deployment.link_addresses import UDP_CHANNELS, use_interface
from gapless.deployment.links.datagram_link import DatagramLink
from gapless.deployment.links.unitree_link import UnitreeLink
from gapless.deployment.loop_timing import MonotonicClock
from gapless.deployment.robot_link import JointCommand, LinkState, RobotLink
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import SafetyCheck, SafetyLimits
from gapless.deployment.soft_realtime import soft_realtime
from gapless.recordings.dataset import Dataset
from gapless.robots import Robot

RATE, STALE, AFTER = 50, 5, 15
"""Control steps per second; steps without a sample that are too many; steps after damping."""
CHECKS = {
    "NaN state": "finite",
    "excursion": "position",
    "frozen": "stale",
    "late": "stale",
    "wrong CRC": "stale",
    "killed": "stale",
    "clock jump": "deadline",
    "NaN output": "finite",
    "targets beyond": "clamped",
}
"""Fault -> the check that must answer."""
LOCAL = ("clock jump", "NaN output", "targets beyond")
"""Those of this side of the wire."""


class JumpingClock(MonotonicClock):
    """Leaps by a second when told to, as a computer does that was asleep."""

    ahead = 0.0

    def now(self) -> float:
        """Seconds."""
        return super().now() + self.ahead

    def sleep_until(self, moment: float) -> None:
        """Sleep."""
        super().sleep_until(moment - self.ahead)


class Swaying:
    """A pilot that moves all joints slowly, until it goes mad."""

    rate = None

    def __init__(self, robot: Robot) -> None:
        self._robot, self._step, self.fault = robot, 0, ""

    def begin(self) -> None:
        """Nothing is remembered."""

    def first(self) -> JointCommand:
        """The default pose, and braking only: the robot may be anywhere."""
        return JointCommand.damping(np.ones(len(self._robot.joints)))

    def observe(self, state: LinkState) -> None:
        """Nothing is looked at."""

    def decide(self) -> JointCommand:
        """The pose, a little to and fro."""
        self._step += 1
        own = self._robot.joints
        q = own.default + 0.1 * np.sin(self._step / 10)
        q = {"NaN output": q * np.nan, "targets beyond": q + 9.0}.get(self.fault, q)
        return JointCommand.of_targets(q, np.full(len(own), 20.0), np.full(len(own), 1.0))


@dataclass
class Witness:
    """Between the loop and the link: sees when a fault can be seen, and when damping is sent."""

    link: RobotLink
    clock: JumpingClock
    limits: SafetyLimits
    pilot: Swaying
    visible: int | None = None
    damped: int | None = None
    step: int = 0
    clamped: int = 0
    _before: tuple[int, float] = field(default=(-1, 0.0))
    _old: int = 0
    _known: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.link, name)

    def read(self) -> LinkState | None:
        """The link's; a fault of a state is visible from here on."""
        state, now = self.link.read(), self.clock.now()
        self.step += 1
        if state is not None:
            self._old = self._old + 1 if state.sequence == self._before[0] else 0
            joints = self.limits.joints.in_order(self.link.joints)
            margin = self.limits.limit("position")
            wrong = not np.isfinite(state.q).all() or (state.q > joints.upper + margin).any()
            leapt = self.step > 5 and now - self._before[1] > 0.5
            self._see(bool(wrong) or self._old >= STALE or leapt)
            # The sample that the loop waited for is new to it once more, in its first step.
            self._before, self._known = (state.sequence if self._known else -1, now), True
        self._see(self.pilot.fault == "NaN output")
        return state

    def write(self, command: JointCommand) -> JointCommand:
        """The link's; the first that brakes is the answer."""
        mad = self.pilot.fault == "targets beyond" and not command.damps
        self.clamped += mad
        self._see(self.clamped >= self.limits.limit("clamped"))
        if command.damps and self.damped is None and self.step > 5:
            self.damped = self.step
        return self.link.write(command)

    def _see(self, fault: bool) -> None:
        if fault and self.visible is None:
            self.visible = self.step


class SoakRobot:
    """The process at the other end."""

    def __init__(self, link: str, domain: int) -> None:
        self._link, self._domain = link, domain
        self.heard = self.beyond = 0
        self._spawn()

    def _spawn(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.told, theirs = context.Pipe()
        self.process = context.Process(
            target=live, args=(self._link, self._domain, theirs), daemon=True
        )
        self.process.start()
        self.address = self.told.recv()
        self._counted = (0, 0)
        self._open: RobotLink | None = None

    def restart(self) -> None:
        """Ready for another flight; what it counted so far is kept."""
        if not self.process.is_alive():
            self._spawn()
        self.told.send("restart")
        heard, beyond = self.told.recv()
        self.heard += heard - self._counted[0]
        self.beyond += beyond - self._counted[1]
        self._counted = (heard, beyond)

    def link_to(self, robot: Robot) -> RobotLink:
        """The same for all flights; a robot that was killed is another one."""
        if self._open is None:
            with soft_realtime():  # its threads keep the priority, as those of `gapless deploy`
                self._open = self._new_link(robot)
        return self._open

    def _new_link(self, robot: Robot) -> RobotLink:
        joints, braking = robot.joints.names, np.ones(len(robot.joints))
        if self._link == "udp":
            return DatagramLink(self.address, joints, UDP_CHANNELS[:1], braking)
        return UnitreeLink("go2", joints, braking, self._domain, simulated=True)


def limits_of(robot: Robot, link: RobotLink) -> SafetyLimits:
    """The robot's own; a busy computer may be late by a few steps."""
    limits = SafetyLimits.of_robot(robot, link.channels, RATE)
    own = {"stale": SafetyCheck(STALE, "damp"), "deadline": SafetyCheck(10, "damp")}
    own |= {"contact": SafetyCheck(1.0, "off"), "start_velocity": SafetyCheck(50.0, "off")}
    return replace(limits, checks={**limits.checks, **own})


def fly(robot: SoakRobot, fault: str, seed: int, folder: Path) -> dict[str, Any]:
    """One flight with one fault: what answered it, how soon, and whether its recording is whole."""
    model = Robot.load("go2", mount="fixed")
    link, clock, pilot = robot.link_to(model), JumpingClock(), Swaying(model)
    limits = limits_of(model, link)
    _wait_for_sense(link)
    witness = Witness(link, clock, limits, pilot)
    safety = SafetyFilter(limits, link.joints)
    out = folder / f"flight{seed}"
    at = int(np.random.default_rng(seed).integers(25, 60))
    with FlightRecorder(out, "go2", link.joints, RATE, link.channels, fault) as recorder:
        loop = ControlLoop(cast(RobotLink, witness), pilot, safety, recorder, clock, patience=30.0)
        injected: list[int] = []

        def act(step: int) -> None:
            if step >= at and not injected and safety.damped is None:
                injected.append(step)
                _inject(robot, fault, clock, pilot)

        _when(loop, act)
        with soft_realtime():
            report = loop.run(at + 150)
    damped = report.damped
    known = witness.damped is not None and witness.visible is not None
    late = witness.damped - witness.visible if known else None  # type: ignore[operator]
    rows = sum(len(clip.q) for clip in Dataset.open(out))
    bad = sum(clip.provenance["rows_damaged"] for clip in Dataset.open(out))
    return {
        "fault": fault,
        "injected": bool(injected),
        "said": "nothing" if damped is None else str(damped),
        "ticks": late,
        "right": damped is not None and damped.check == CHECKS[fault] and late is not None,
        "recorded": rows > min(at, report.steps) - 15 and not bad and not recorder.lost,
        "work_p99_ms": 1000 * report.timings["step"]["p99"],
    }


def _wait_for_sense(link: RobotLink) -> None:
    """Until the robot is itself again after the fault before."""
    until, seen, good = time.monotonic() + 20.0, -1, 0
    while good < 20 and time.monotonic() < until:
        state = link.read()
        if state is not None and state.sequence != seen:
            seen = state.sequence
            good = good + 1 if np.isfinite(state.q).all() and (np.abs(state.q) < 3).all() else 0
        time.sleep(0.01)


def _when(loop: ControlLoop, act: Any) -> None:
    """Let something happen at a control step; a while after damping the flight is over."""
    real = loop.recorder.add  # type: ignore[union-attr]

    def add(step: int, *rest: Any) -> None:
        real(step, *rest)
        act(step)
        damped = loop.safety.damped
        if damped is not None and loop.safety.steps - damped.step > AFTER:
            loop.stop("damped")

    loop.recorder.add = add  # type: ignore[union-attr,method-assign]


def _inject(robot: SoakRobot, fault: str, clock: JumpingClock, pilot: Swaying) -> None:
    if fault == "killed":
        robot.restart()  # its counts, before they are gone
        robot.process.kill()
    elif fault == "clock jump":
        clock.ahead += 1.0
    elif fault in LOCAL:
        pilot.fault = fault
    else:
        robot.told.send(fault)


def soak(link: str, seconds: float, domain: int) -> dict[str, Any]:
    """Flights over one link for so long."""
    robot, flown, memory = SoakRobot(link, domain), [], []
    until, seed = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < until or seed < len(CHECKS):
            robot.restart()
            flown.append(fly(robot, list(CHECKS)[seed % len(CHECKS)], seed, Path(folder)))
            memory.append(_resident())
            seed += 1
            if not (flown[-1]["right"] and flown[-1]["recorded"]):
                print(f"{link}, flight {seed}: {flown[-1]}", file=sys.stderr, flush=True)
        robot.restart()
        with suppress(OSError):
            robot.told.send("end")
        robot.process.join(10)
    half, last = len(memory) // 2, 3 * len(memory) // 4
    grown = float(np.mean(memory[last:]) - np.mean(memory[half:last]))  # single ones wander
    return {
        "link": link,
        "seconds": seconds,
        "flights": len(flown),
        "rows": _rows(flown),
        "damped_before_the_fault": [f["said"] for f in flown if not f["injected"]],
        "commands_heard": robot.heard,
        "commands_beyond_limits": robot.beyond,
        "memory_mb": memory,
        "memory_grown_mb_in_second_half": grown,
        "recordings_whole": sum(f["recorded"] for f in flown),
        "work_p99_ms": float(np.median([f["work_p99_ms"] for f in flown])),
    }


def _rows(flown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a fault; a flight that was damped before its fault came says nothing about it."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for flight in (f for f in flown if f["injected"]):
        groups[flight["fault"]].append(flight)
    return [
        {
            "fault": fault,
            "check": CHECKS[fault],
            "times": len(own),
            "answered": sum(f["right"] for f in own),
            "answered_otherwise": "; ".join(f["said"] for f in own if not f["right"]),
            "worst_ticks": max((f["ticks"] for f in own if f["ticks"] is not None), default=None),
        }
        for fault, own in groups.items()
    ]


def _resident() -> float:
    """MB that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def show(found: dict[str, Any]) -> None:
    """A table as the docs have it."""
    print(
        f"{found['link']}: {found['flights']} flights, {found['commands_heard']} commands heard, "
    )
    print(f"  {found['commands_beyond_limits']} of them beyond limits; memory grew by ", end="")
    print(f"{found['memory_grown_mb_in_second_half']:.1f} MB in the second half; ", end="")
    print(f"{found['recordings_whole']} recordings whole; p99 {found['work_p99_ms']:.2f} ms")
    before = found["damped_before_the_fault"]
    print(f"  {len(before)} flights were damped before their fault came: {'; '.join(before)}")
    print("| fault | check that must answer | times | answered | or by | worst ticks |")
    print("|---|---|---|---|---|---|")
    for row in found["rows"]:
        print("| " + " | ".join(str(row[k]) for k in row) + " |")


def main() -> None:
    """Parse, soak, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--links", nargs="+", default=["udp", "dds"])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    use_interface("lo")
    seconds = 60 * args.minutes / len(args.links)
    found = [soak(link, seconds, 175 + os.getpid() % 40) for link in args.links]
    for one in found:
        show(one)
    if args.json:
        args.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
