"""Pilot: who decides what the robot shall do next. A policy is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gapless.deployment.robot_link import JointCommand, LinkState

if TYPE_CHECKING:
    from gapless.policies import Policy
    from gapless.policies.controller import Anchor
    from gapless.robots import Robot

Asked = Mapping[str, Sequence[float]]
"""Name of a policy's command -> its numbers."""


class Pilot(Protocol):
    """Observes, then decides."""

    @property
    def rate(self) -> float | None:
        """Control steps per second that it was made for; None is any."""
        ...

    def begin(self) -> None:
        """Forget all that was seen: the robot is handed over now."""
        ...

    def first(self) -> JointCommand:
        """Where it would begin: the robot must be near."""
        ...

    def observe(self, state: LinkState) -> None:
        """Take in a sample."""
        ...

    def decide(self) -> JointCommand:
        """What to do about it."""
        ...


class PolicyPilot:
    """A policy with the gains of its contract; joints that it does not move are held.

    Args:
        policy: that decides.
        robot: its joints, and their gains where the policy has none for them.
        joints: in the order of the link.
        asked: what is asked of the policy now; the middle of each range by default.
    """

    def __init__(
        self,
        policy: Policy,
        robot: Robot,
        joints: Sequence[str],
        asked: Callable[[], Asked] | None = None,
    ) -> None:
        own = robot.joints.select(joints)
        self.policy, self._asked = policy, asked or (lambda: _middle(policy))
        self._controller = policy.start(joints, own.default, 1, _anchor(policy, robot, joints))
        gains = policy.contract.gains
        told = [gains.get(j, (own.kp[k], own.kd[k])) for k, j in enumerate(joints)]
        self._kp, self._kd = np.array(told, float).T.copy()
        self._first = JointCommand.of_targets(self._beginning(), self._kp, self._kd)

    @property
    def rate(self) -> float:
        """The policy's own; at another it would be another policy."""
        return self.policy.contract.rate

    def begin(self) -> None:
        """As if it had seen nothing."""
        self._controller.forget()

    def first(self) -> JointCommand:
        """The policy's stance, or the first frame of the motion that it follows."""
        return self._first

    def begin_at(self, pose: Mapping[str, float]) -> None:
        """The robot must be near these angles, rad, to begin: a motion's first frame."""
        q = self._first.q.copy()
        for joint, angle in pose.items():
            if joint in self._controller.columns:
                q[self._controller.columns[joint]] = angle
        self._first = JointCommand.of_targets(q, self._kp, self._kd)

    def _beginning(self) -> np.ndarray:
        targets, reference = self._controller.targets[0].copy(), self.policy.reference
        if reference is not None:
            moved = [self._controller.columns[j] for j in self.policy.contract.joints]
            targets[moved] = reference.frames.joint_pos[0]
        return targets

    def observe(self, state: LinkState) -> None:
        """Build what the network sees, by the code that training and evaluation use."""
        asked = {k: np.asarray(v, float)[None] for k, v in self._asked().items()}
        self._controller.observe(state.readings, asked)

    def decide(self) -> JointCommand:
        """Run the network."""
        targets = self._controller.decide()[0]
        output = self._controller.action[0]
        return JointCommand.of_targets(targets, self._kp, self._kd, output)


def _middle(policy: Policy) -> Asked:
    commands = policy.contract.commands
    return {k: (np.add(c.lower, c.upper) / 2).tolist() for k, c in commands.items()}


def _anchor(policy: Policy, robot: Robot, joints: Sequence[str]) -> Anchor | None:
    """Finds the link that a tracker compares; only one that is not the root needs the model."""
    name = policy.contract.anchor
    if policy.reference is None or name in ("", robot.root):
        return None
    from gapless.robots import Kinematics

    kinematics = Kinematics.of(robot)
    column = kinematics.links.index(robot.check_link(name))
    order = [list(joints).index(j) for j in robot.joints.names]

    def find(readings: object) -> tuple[np.ndarray, np.ndarray]:
        q, base, quat = (getattr(readings, k) for k in ("q", "base_pos", "base_quat_wxyz"))
        root = np.zeros((1, 3)) if base is None else base
        pos, turn = kinematics.link_poses(q[:, order], root, quat)
        return pos[:, column], turn[:, column]

    return find
