"""A World in another process, over UDP: it obeys what came whole, and damps when nothing comes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from unitree_process import wait_for

from gapless.deployment.datagram_robot import DatagramRobot
from gapless.deployment.links.datagram_link import DatagramLink
from gapless.deployment.packets import COMMAND, Packet
from gapless.deployment.robot_link import JointCommand
from gapless.errors import SafetyError
from gapless.worlds import MujocoWorld
from pendulum import pendulum
from safe_arm import FakeClock

ONE = np.ones(1)
ROBOT = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from pendulum import pendulum
from gapless.deployment.datagram_robot import DatagramRobot
from gapless.worlds import MujocoWorld
folder = Path(sys.argv[1])
robot = DatagramRobot(MujocoWorld(pendulum(folder), 100), patience=30.0)
print(robot.address[1], flush=True)
robot.run(lambda: (folder / "stop").exists())
print(robot.counts.accepted, robot.counts.corrupt, flush=True)
"""


def target(angle: float) -> JointCommand:
    """Stiff."""
    return JointCommand.of_targets(angle * ONE, 60 * ONE, 4 * ONE)


class Pair:
    """A robot that lives when told, and a link to it."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        world = MujocoWorld(pendulum(folder), 50)
        self.robot = DatagramRobot(world, patience=0.1, clock=self.clock)
        self.link = self.another()

    def another(self, joints: tuple[str, ...] = ("swing",)) -> DatagramLink:
        """One more link to the same robot."""
        return DatagramLink(self.robot.address, joints, ("torque",), 2 * np.ones(len(joints)))

    def live(self, steps: int = 1) -> None:
        """So many control steps of the robot."""
        for _ in range(steps):
            self.clock.time += 0.02
            self.robot.step()

    def meet(self) -> None:
        """Until the link has heard of the robot."""

        def met() -> bool:
            self.live()
            return self.link.read() is not None

        assert wait_for(met)

    def obeyed(self, command: JointCommand, steps: int = 1) -> None:
        """Send a command so many times, each until the robot has it."""
        for _ in range(steps):
            before = self.robot.counts.accepted
            self.link.write(command)
            assert wait_for(lambda b=before: self._arrived(b))

    def _arrived(self, before: int) -> bool:
        # The step in which it is heard comes within the robot's patience, whatever this costs.
        self.clock.time += 1e-4
        self.robot.step()
        return self.robot.counts.accepted > before


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Both on this computer."""
    made = Pair(tmp_path)
    yield made
    made.link.close()
    made.robot._socket.close()


def test_commands_move_the_robot_and_states_come_back(pair: Pair) -> None:
    """Numbered, in order, none missing."""
    with pytest.raises(SafetyError, match="nobody is there"):
        pair.link.write(target(0.5))
    pair.meet()
    pair.obeyed(target(0.8), 60)
    assert wait_for(lambda: _at(pair, 0.3))
    counts = pair.robot.counts
    assert (counts.accepted, counts.missing, counts.corrupt, counts.late) == (60, 0, 0, 0)
    assert not pair.robot.body.watchdog.tripped and not pair.link.is_real


def _at(pair: Pair, least: float) -> bool:
    state = pair.link.read()
    return state is not None and state.q[0] > least and state.torque is not None


def test_silence_damps_for_good(pair: Pair) -> None:
    """Five steps of patience; commands that come later find a damped robot."""
    pair.meet()
    pair.obeyed(target(0.8), 80)
    lifted = pair.robot.body.link.read().q[0]
    pair.live(4)
    assert not pair.robot.body.watchdog.tripped
    pair.live(150)
    assert pair.robot.body.watchdog.tripped
    assert lifted > 0.5 and abs(pair.robot.body.link.read().q[0]) < 0.3
    pair.obeyed(target(0.8), 60)
    pair.live(20)
    assert abs(pair.robot.body.link.read().q[0]) < 0.3


def test_bad_packets_are_never_acted_on(pair: Pair) -> None:
    """Damaged, doubled, late, of another session, and of a stranger."""
    pair.meet()
    pair.obeyed(target(0.0), 5)
    good = Packet(COMMAND, pair.robot.session, 1000, 0.0, np.array([1.5, 0, 60, 4, 0]))
    before = Packet(COMMAND, pair.robot.session, 2, 0.0, good.values)
    never = Packet(COMMAND, pair.robot.session + 1, 2000, 0.0, good.values)
    late = Packet(COMMAND, pair.robot.session, 999, 0.0, good.values)
    broken = bytearray(good.pack())
    broken[30] ^= 4
    sent = [bytes(broken), before.pack(), never.pack()]
    for data in sent:
        pair.link._socket.send(data)
    counts = pair.robot.counts
    assert wait_for(lambda: pair.robot.step() is not None and counts.foreign == 1)
    assert (counts.corrupt, counts.duplicate, counts.accepted) == (1, 1, 5)
    hold = Packet(COMMAND, pair.robot.session, 1001, 0.0, np.array([0.0, 0, 60, 4, 0]))
    for packet in (hold, late):
        pair.link._socket.send(packet.pack())
    assert wait_for(lambda: pair.robot.step() is not None and counts.late == 1)
    stranger = pair.another()
    stranger._gate.session = pair.robot.session
    stranger.write(target(1.5))
    assert wait_for(lambda: pair.robot.step() is not None and pair.robot.strangers > 0)
    pair.live(3)
    assert abs(pair.robot.body.link.read().q[0]) < 0.05 and counts.accepted == 6
    stranger.close()


def test_a_command_that_is_no_number_damps_the_robot(pair: Pair) -> None:
    """Whole and new, yet no command."""
    pair.meet()
    pair.obeyed(target(0.5), 3)
    pair.link.write(target(float("nan")))
    assert wait_for(lambda: pair.robot.step() is not None and pair.robot.body.watchdog.tripped)


def test_a_link_for_another_robot_is_not_answered(pair: Pair) -> None:
    """Other joints, or the same in another order."""
    other = pair.another(("swing", "elbow"))
    assert wait_for(lambda: pair.robot.step() is not None and pair.robot.strangers > 0)
    assert other.read() is None
    other.close()


def test_states_of_a_restarted_robot_are_not_believed(pair: Pair, tmp_path: Path) -> None:
    """Its sequence would begin anew: the link shows the last one, which is stale."""
    pair.meet()
    last = pair.link.read()
    assert last is not None
    pair.robot.session += 1
    pair.live(3)
    assert wait_for(lambda: pair.link.read() is not None and pair.link.counts.foreign == 3)
    newest = pair.link.read()
    assert newest is not None and newest.sequence - last.sequence <= 1


CONTROLLER = """
import sys, time
import numpy as np
from gapless.deployment.links.datagram_link import DatagramLink
from gapless.deployment.robot_link import JointCommand
one = np.ones(1)
link = DatagramLink(("127.0.0.1", int(sys.argv[1])), ("swing",), ("torque",), 2 * one)
while True:
    if link.read() is not None:
        link.write(JointCommand.of_targets(0.8 * one, 60 * one, 4 * one))
    time.sleep(0.01)
"""


def test_a_controller_that_is_killed_leaves_a_damped_robot(tmp_path: Path) -> None:
    """kill -9: nobody can say goodbye, so the robot must notice by itself."""
    robot = DatagramRobot(MujocoWorld(pendulum(tmp_path), 50), patience=1.0)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-c", CONTROLLER, str(robot.address[1])]
    process = subprocess.Popen(run, env=env)
    try:
        assert wait_for(lambda: robot.step() is not None and robot.counts.accepted > 20)
    finally:
        process.kill()
        process.wait()
    assert wait_for(lambda: robot.step() is not None and robot.body.watchdog.tripped)
    for _ in range(200):
        robot.step()
    assert abs(robot.body.link.read().q[0]) < 0.2 and abs(robot.body.link.read().dq[0]) < 0.2
    robot._socket.close()


def test_two_processes(tmp_path: Path) -> None:
    """As it is meant to be used."""
    paths = [str(Path(__file__).parents[1]), *sys.path]
    run = [sys.executable, "-c", ROBOT, str(tmp_path), *paths]
    process = subprocess.Popen(run, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        link = DatagramLink(("127.0.0.1", port), ("swing",), ("torque",), 2 * ONE)
        assert wait_for(lambda: link.read() is not None)

        def there() -> bool:
            link.write(target(0.8))
            state = link.read()
            return state is not None and state.q[0] > 0.5

        assert wait_for(there)
        link.damp()
        link.close()
        (tmp_path / "stop").touch()
        accepted, corrupt = map(int, process.stdout.readline().split())
        assert accepted > 0 and corrupt == 0 and process.wait(60) == 0
        assert link.counts.corrupt == 0 and link.counts.accepted > 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
