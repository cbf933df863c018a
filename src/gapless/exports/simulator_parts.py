"""What a run's simulator is made of, as every export takes it apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gapless.closing import Run
from gapless.corrections.runtime.correction import Correction
from gapless.errors import ArtifactError, GaplessError
from gapless.identification import Calibration
from gapless.identification.estimate import Estimate
from gapless.robots import Robot
from gapless.worlds.effects import IMU, PER_JOINT, Effects
from gapless.worlds.mujoco_world import MujocoWorld

NATIVE_TO_TARGETS = ("delay", "encoder_bias")
"""Effects that only move the targets: whoever commands the joints can bring them in."""
HARMLESS = ("stribeck_speed", "cooling", "ambient")
"""Figures of effects that do nothing by themselves."""


@dataclass(frozen=True)
class SimulatorParts:
    """The parts of the simulator that a run ended with.

    Attributes:
        run: the folder.
        nominal: the robot before anything was found.
        calibration: what was identified and kept, or None.
        correction: what was learned and kept, or None.
    """

    run: Run
    nominal: Robot
    calibration: Calibration | None
    correction: Correction | None

    @classmethod
    def of(cls, run: Run | str | Path) -> SimulatorParts:
        """The parts of a finished run.

        Raises:
            ArtifactError: it is not finished: what it keeps is not decided.
        """
        run = run if isinstance(run, Run) else Run.open(run)
        if not run.summary:
            raise ArtifactError(
                f"{run.path} is not finished; the same gapless close resumes it, then export it"
            )
        return cls(run, run.robot, run.calibration, run.correction)

    @cached_property
    def _applied(self) -> tuple[Robot, Effects]:
        if self.calibration is None:
            return self.nominal, Effects()
        return self.calibration.apply(self.nominal)

    @property
    def robot(self) -> Robot:
        """The calibrated robot."""
        return self._applied[0]

    @cached_property
    def effects(self) -> Effects:
        """What its drives do beyond a robot's figures, an array a joint."""
        return self._applied[1].resolve(len(self.robot.joints))

    @cached_property
    def world(self) -> MujocoWorld:
        """The calibrated simulator, without what was learned."""
        step = self.run.facts["settings"]["physics_step"]
        rate = self.run.facts["data"]["rate"]
        return MujocoWorld(self.robot, rate, physics_step=step, effects=self._applied[1], threads=1)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Everything that was identified, what it is on top of first."""
        if self.calibration is None:
            return ()
        parts = (self.calibration.base, self.calibration)
        return tuple(e for part in parts if part is not None for e in part.estimates)

    @cached_property
    def whole(self) -> Robot:
        """The calibrated robot with the joints that the run held still moving again.

        Those of a built-in robot, or of a model whose file is still there; otherwise as it was.
        """
        if not self.nominal.locked:
            return self.robot
        told = self.run.facts["robot"]
        try:
            loaded = Robot.load(told["source"], mount=told["mount"])
            return loaded if self.calibration is None else self.calibration.apply(loaded)[0]
        except (GaplessError, OSError):
            return self.robot

    def acting(self, names: tuple[str, ...] = (*PER_JOINT, *IMU)) -> dict[str, np.ndarray]:
        """Effects that do something, by name."""
        found = {name: np.asarray(getattr(self.effects, name)) for name in names}
        quiet = {name for name in HARMLESS if name in found}
        return {
            name: value
            for name, value in found.items()
            if name not in quiet and np.any(np.isfinite(value) & (value != 0))
        }

    def left_out(self, expressed: tuple[str, ...] = (), learned: bool = False) -> tuple[str, ...]:
        """What a format has no place for.

        Args:
            expressed: effects that it has one for.
            learned: whether it holds the correction.
        """
        lost = [
            f"{name} ({_told(value)}): only gapless's own drives compute it"
            for name, value in self.acting().items()
            if name not in expressed
        ]
        if self.correction is not None and not learned:
            lost.append(
                f"the learned correction ({self.correction.contract.model}, of "
                f"{self.correction.contract.head}): this format holds figures alone"
            )
        return tuple(lost)

    def about(self) -> dict[str, Any]:
        """Where it comes from."""
        facts = self.run.facts
        data = facts["data"]
        return {
            "robot": self.robot.name,
            "mount": self.robot.mount,
            "rate": self.world.rate,
            "physics_step": self.world.timestep,
            "recordings": data["recordings"],
            "seconds": data["seconds"],
            "made_by": facts["made_by"],
        }


def _told(value: np.ndarray) -> str:
    """A value, or the span of several."""
    low, high = float(np.min(value)), float(np.max(value))
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
