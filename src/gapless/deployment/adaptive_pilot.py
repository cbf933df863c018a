"""AdaptivePilot: a pilot whose commands are corrected by what was learned from those before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.artifact import write_json
from gapless.deployment.arm_model import ArmModel
from gapless.deployment.arm_weighing import weighed_arm
from gapless.deployment.payload_adaptation import PayloadAdaptation
from gapless.deployment.pilot import Pilot
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_limits import JointLimits
from gapless.errors import DataError

if TYPE_CHECKING:
    from gapless.robots import Robot


class AdaptivePilot:
    """A pilot, and an adaptation for each of its robot's arms.

    What it decides goes through the safety filter as any command does, and it learns from what was
    really sent, once it is told.

    Args:
        pilot: who decides.
        adaptations: of arms that share no joint.
        targets: add to targets, which every robot takes, rather than torques.
    """

    def __init__(
        self, pilot: Pilot, *adaptations: PayloadAdaptation, targets: bool = False
    ) -> None:
        self._pilot, self.adaptations, self._targets = pilot, adaptations, targets
        self._last: JointCommand | None = None
        self._sequence: int | None = None

    @property
    def rate(self) -> float | None:
        """The pilot's."""
        return self._pilot.rate

    def begin(self) -> None:
        """What was learned is kept: the arm is the same."""
        self._pilot.begin()

    def first(self) -> JointCommand:
        """The pilot's."""
        return self._pilot.first()

    def observe(self, state: LinkState) -> None:
        """Let the pilot see, and learn from what the last command did; old samples say nothing."""
        self._pilot.observe(state)
        new, self._sequence = state.sequence != self._sequence, state.sequence
        if new and self._last is not None and self._last.kp.any():
            for adaptation in self.adaptations:
                adaptation.learn(state, self._last)

    def decide(self) -> JointCommand:
        """The pilot's command, corrected."""
        command = self._pilot.decide()
        for adaptation in self.adaptations:
            command = (adaptation.shift if self._targets else adaptation.correct)(command)
        self._last = command
        return command

    def note_sent(self, command: JointCommand) -> None:
        """What really went out in place of the last decision."""
        self._last = command

    def summary(self) -> dict[str, dict[str, Any]]:
        """Hand -> what is believed now."""
        return {a.arm.hand: a.summary() for a in self.adaptations}

    def write_log(self, path: Path) -> None:
        """Hand -> what was believed, as JSON."""
        write_json(path, {a.arm.hand: a.to_dict() for a in self.adaptations})


def adaptations_for(
    names: Sequence[str],
    robot: Robot,
    joints: JointLimits,
    rate: float,
    weighed: Sequence[str | Path] = (),
) -> list[PayloadAdaptation]:
    """An adaptation for each arm.

    Args:
        names: hands, whose arms are read from the robot's model (which needs MuJoCo), or files
            that `ArmModel.write` wrote.
        robot: whose arms they are.
        joints: limits, in the order of the link.
        rate: control steps per second.
        weighed: datasets of the arms without a load and with known ones; see `weighed_arm`.
    """
    arms = [ArmModel.read(n) if n.endswith(".json") else ArmModel.of(robot, n) for n in names]
    if arms and weighed:
        from gapless.recordings.dataset import Dataset

        clips = [clip for path in weighed for clip in Dataset.open(path)]
        arms = [weighed_arm(arm, clips) for arm in arms]
    driven: set[str] = set()
    for arm in arms:
        way = {link.joint for link in arm.links if link.joint}
        if lacking := sorted(way - set(joints.names)):
            raise DataError(
                f"the arm of {arm.hand} has joints that this robot lacks: {', '.join(lacking)}; "
                "expected a hand, or a file of an arm, of the robot that is flown"
            )
        if shared := sorted(driven & set(arm.joints)):
            raise DataError(
                f"two of the arms move {', '.join(shared)}; expected hands of different arms"
            )
        driven |= set(arm.joints)
    return [PayloadAdaptation(a, joints.names, joints.torque, rate, limits=joints) for a in arms]
