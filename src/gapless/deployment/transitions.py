"""Transitions: from lying damped to walking and back, one allowed step at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gapless.deployment.pilot import Pilot
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.state_checks import tilt_of
from gapless.errors import DataError, SafetyError, unknown

DAMP = "damp"
ALLOWED: dict[str, tuple[str, ...]] = {
    DAMP: ("zero",),
    "zero": ("stand", DAMP),
    "stand": ("locomotion", "tracking", DAMP),
    "locomotion": ("tracking", "stand", DAMP),
    "tracking": ("locomotion", "stand", DAMP),
}
"""PilotStage -> those that a person may ask for next. Damping is allowed from everywhere."""


@dataclass(frozen=True)
class PilotStage:
    """Something that the robot can be doing.

    Attributes:
        pilot: who decides then.
        blend: s over which targets and gains go over from the stage before.
        distance: rad that any joint may be from where the pilot begins, to enter.
        speed: rad/s of any joint, to enter.
        tilt: rad of the base, to enter; not looked at where nobody knows it.
        seconds: after which the robot goes on by itself; None is until somebody asks.
        then: the stage that it goes on to.
    """

    pilot: Pilot
    blend: float = 1.0
    distance: float = np.inf
    speed: float = np.inf
    tilt: float = np.inf
    seconds: float | None = None
    then: str = "stand"

    def refusals(self, state: LinkState) -> Iterator[str]:
        """Why the robot may not enter it as it is."""
        away = float(np.max(np.abs(self.pilot.first().q - state.q)))
        if not away <= self.distance:
            yield f"a joint is {away:.2f} rad from where it begins; at most {self.distance:.2f}"
        fast = float(np.max(np.abs(state.dq)))
        if not fast <= self.speed:
            yield f"a joint moves at {fast:.2f} rad/s; at most {self.speed:.2f}"
        if state.base_quat_wxyz is not None:
            lean = tilt_of(state.base_quat_wxyz)
            if not lean <= self.tilt:
                yield f"the base leans by {lean:.2f} rad; at most {self.tilt:.2f}"


class HoldPilot:
    """Holds a pose: zero, or standing."""

    rate = None

    def __init__(self, pose: np.ndarray, kp: np.ndarray, kd: np.ndarray) -> None:
        self._command = JointCommand.of_targets(np.array(pose, float), np.array(kp), np.array(kd))

    def begin(self) -> None:
        """Nothing is remembered."""

    def first(self) -> JointCommand:
        """The pose."""
        return self._command

    def observe(self, state: LinkState) -> None:
        """Nothing is looked at."""

    def decide(self) -> JointCommand:
        """The pose."""
        return self._command


class DampPilot:
    """Brakes, wherever the robot is."""

    rate = None

    def __init__(self, damping: np.ndarray) -> None:
        self._damping, self._q = np.array(damping, float), None

    def begin(self) -> None:
        """Nothing is remembered."""

    def first(self) -> JointCommand:
        """Braking."""
        return JointCommand.damping(self._damping, self._q)

    def observe(self, state: LinkState) -> None:
        """Where the robot is: from there it is led on."""
        self._q = state.q

    decide = first


class StagedPilot:
    """A pilot made of stages. It begins damped, and only requests move it on.

    Args:
        stages: by name; zero, stand, and what there is of locomotion and tracking.
        damping: (J,) gains of damping, N·m·s/rad.
        rate: control steps per second.
    """

    def __init__(self, stages: Mapping[str, PilotStage], damping: np.ndarray, rate: float) -> None:
        for name in stages:
            if name not in ALLOWED or name == DAMP:
                raise unknown("stage", name, [n for n in ALLOWED if n != DAMP])
        if not {"zero", "stand"} <= set(stages):
            raise DataError("stages lack zero or stand: there would be no way to begin, or back")
        self._stages = {**stages, DAMP: PilotStage(DampPilot(damping), blend=0.0)}
        for name, stage in stages.items():
            if stage.pilot.rate not in (None, rate):
                raise DataError(f"{name} is for {stage.pilot.rate} steps per second, not {rate}")
        self.rate = rate
        self.stage, self._before = DAMP, DAMP
        self._steps = self._blended = 0
        self._asked: str | None = None
        self._state: LinkState | None = None
        self.refused = ""

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of those that there are."""
        return tuple(self._stages)

    @property
    def blending(self) -> bool:
        """Whether something of the stage before is left in the commands."""
        return self._before != self.stage

    def begin(self) -> None:
        """Damped again."""
        self.abort()

    def first(self) -> JointCommand:
        """Damping is right wherever the robot is: it has no place where it begins."""
        command = self._stages[DAMP].pilot.first()
        return command if self._state is None else JointCommand.damping(command.kd, self._state.q)

    def request(self, stage: str) -> None:
        """Ask for a stage; the next step goes over to it, or says in `refused` why not.

        Raises:
            SafetyError: it is not allowed from here.
        """
        if stage not in self._stages:
            raise unknown("stage", stage, self._stages)
        if stage != DAMP and stage not in ALLOWED[self.stage]:
            raise SafetyError(
                f"{stage} is not reached from {self.stage}; from there go to "
                f"{' or '.join(ALLOWED[self.stage])}"
            )
        self._asked = stage

    def abort(self) -> None:
        """Damp from the very next command on, without any blend; only a request ends it."""
        self.stage = self._before = DAMP
        self._asked = None
        self._steps = self._blended = 0

    def observe(self, state: LinkState) -> None:
        """Go over to another stage where that was asked for, and let its pilot see."""
        self._state = state
        asked, self._asked = self._asked, None
        if asked == DAMP:
            self.abort()
        elif asked is not None:
            self._enter(asked, state)
        for name in {self.stage, self._before}:
            self._stages[name].pilot.observe(state)

    def decide(self) -> JointCommand:
        """The stage's own command; while it is new, a mixture with that of the one before."""
        now = self._stages[self.stage]
        command = now.pilot.decide()
        self._steps += 1
        total = round(now.blend * self.rate)
        if self._before != self.stage and self._blended < total:
            self._blended += 1
            command = mixed(
                self._stages[self._before].pilot.decide(), command, self._blended / total
            )
        if self._blended >= total:
            self._before = self.stage
        if now.seconds is not None and self._steps >= now.seconds * self.rate:
            self._asked = now.then
        return command

    def _enter(self, name: str, state: LinkState) -> None:
        stage = self._stages[name]
        self.refused = "; ".join(stage.refusals(state))
        if self.refused:
            return
        stage.pilot.begin()
        self._before, self.stage = self.stage, name
        self._steps = self._blended = 0


def mixed(old: JointCommand, new: JointCommand, share: float) -> JointCommand:
    """Targets and gains between two commands; it starts and ends gently."""
    weight = share * share * (3 - 2 * share)

    def mix(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (1 - weight) * a + weight * b

    fields = ("q", "dq", "kp", "kd", "tau")
    return JointCommand(*(mix(getattr(old, f), getattr(new, f)) for f in fields), output=new.output)
