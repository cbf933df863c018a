"""WorldLink: a World in this process, as a robot that moves one control step a command."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from gapless.deployment.gantry import Gantry
from gapless.deployment.robot_link import CHANNELS, JointCommand, LinkState

if TYPE_CHECKING:
    from gapless.robots.payload import Payload
    from gapless.worlds.world import State, World


class WorldLink:
    """One environment of a world.

    Gains are conditions of a world: where a command has others than the last, the environment
    goes on from where it is under new ones.

    Args:
        world: any World; its rate is that of the commands.
        start: (1, ...) where it begins; the default pose by default.
        damping: (J,) gains of `damp`, N·m·s/rad; the robot's own by default.
        gantry: that it hangs on at first; None stands on its own feet.
    """

    is_real = False

    def __init__(
        self,
        world: World,
        start: State | None = None,
        damping: np.ndarray | None = None,
        gantry: Gantry | None = None,
    ) -> None:
        self.gantry = gantry
        joints = world.robot.joints
        self._world, self.joints = world, tuple(joints.names)
        self._damping = np.array(joints.kd if damping is None else damping, float)
        self._state = world.home(1) if start is None else start
        self._begun = False
        self._gains: tuple[bytes, bytes] | None = None
        self._payloads: dict[str, Payload] | None = None
        self._sequence = 0
        self._latest = self._sample()

    @property
    def channels(self) -> tuple[str, ...]:
        """What this world's states have besides positions and velocities."""
        warm = () if self._state.temperature is None else ("temperature",)
        base = () if self._state.base_quat_wxyz is None else CHANNELS[2:6]
        return ("torque", *warm, *base)

    @property
    def world(self) -> World:
        """That is stepped."""
        return self._world

    def read(self) -> LinkState:
        """The state after the last command."""
        return self._latest

    def write(self, command: JointCommand) -> JointCommand:
        """Hold a command for one control step."""
        command.require_joints(len(self.joints))
        self._use_gains(command)
        pull = None if self.gantry is None else self.gantry.pull(self._latest, command)
        if pull is not None:
            self.push(pull)
        # The world's own drives brake against zero speed: what is asked beyond that is a torque.
        added = command.kd * command.dq + command.tau
        self._state = self._world.step(command.q[None], added[None] if added.any() else None)
        # A simulation that broke down has no new samples: whoever reads finds them stale.
        if not self._world.health.diverged[0]:
            self._sequence += 1
            self._latest = self._sample()
        return command

    def damp(self) -> None:
        """Brake for one control step."""
        self.write(JointCommand.damping(self._damping, self._latest.q))

    def close(self) -> None:
        """Nothing is held."""

    def push(self, velocity: np.ndarray) -> None:
        """Give the base a velocity, as somebody would who pushes the robot; see `World.push`."""
        self._world.push(np.asarray(velocity, float)[None])

    def carry(self, payloads: dict[str, Payload]) -> None:
        """Put loads on links, from the next command on."""
        self._payloads, self._gains = dict(payloads), None

    def _use_gains(self, command: JointCommand) -> None:
        wanted = command.kp.tobytes(), command.kd.tobytes()
        if wanted == self._gains:
            return
        from gapless.recordings.conditions import Conditions

        pairs = zip(self.joints, command.kp.tolist(), command.kd.tolist(), strict=True)
        gains = {joint: (kp, kd) for joint, kp, kd in pairs}
        told = Conditions(gains=gains, payloads=self._payloads)
        # What a link reads is what sensors show: going on from there would add up their errors.
        if self._begun:
            self._world.use_conditions([told])
        else:
            self._world.reset(self._state.start(), conditions=[told])
        self._gains, self._begun = wanted, True

    def _sample(self) -> LinkState:
        found = {name: array[0] for name, array in self._state.fields.items()}
        # Before the first command the motors do nothing; that is no fault.
        found.setdefault("torque", np.zeros(len(self.joints)))
        now = time.monotonic()
        return LinkState(self._sequence, self._sequence / self._world.rate, now, **found)
