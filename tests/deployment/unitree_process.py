"""A simulated Unitree robot in a process of its own, for tests: nothing leaves this computer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROBOT = """
import json, sys
from pathlib import Path
from gapless.deployment.simulated_robot import SimulatedUnitree
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
model, domain, patience, stop = sys.argv[1:]
world = MujocoWorld(Robot.load(model, mount="fixed"), 100, physics_step=0.005)
robot = SimulatedUnitree(world, model, int(domain), patience=float(patience))
told = False
def until():
    global told
    if robot.body.watchdog.tripped and not told:
        told = True
        print("tripped", flush=True)
    return Path(stop).exists()
print("ready", flush=True)
robot.run(until)
print(json.dumps({"corrupt": robot.corrupt, "foreign": robot.foreign}), flush=True)
"""
SECONDS = 60.0
"""A busy computer may take long; one on which it takes longer is broken."""


class RobotProcess:
    """The process, and how to end it."""

    def __init__(self, model: str, domain: int, patience: float, stop: Path) -> None:
        self._stop = stop
        command = [sys.executable, "-c", ROBOT, model, str(domain), str(patience), str(stop)]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)

    def line(self) -> str:
        """What it says next."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> dict[str, Any]:
        """Ask it to end; its counts."""
        self._stop.touch()
        last = ""
        while (line := self.line()) != "":
            last = line
        assert self.process.wait(SECONDS) == 0
        return json.loads(last)


@contextmanager
def robot_process(model: str, domain: int, patience: float, tmp: Path) -> Iterator[RobotProcess]:
    """Ended whatever happens."""
    robot = RobotProcess(model, domain, patience, tmp / "stop")
    try:
        assert robot.line() == "ready"
        yield robot
    finally:
        robot.process.kill()
        robot.process.wait()
        if robot.process.stdout is not None:
            robot.process.stdout.close()


def wait_for(condition: Callable[[], bool], pause: float = 0.005) -> bool:
    """Whether it came true in time."""
    until = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(pause)
    return True
