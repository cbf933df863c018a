"""The stages of a run: each returns what its file will hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.closing.close_settings import CloseSettings
from gapless.closing.run import CALIBRATION, CORRECTION, REPLAYS, Run
from gapless.closing.stage import Stage
from gapless.corrections import CorrectedWorld, Correction, correct
from gapless.errors import ArtifactError, GaplessError
from gapless.evaluation.path_prediction import PathPrediction
from gapless.evaluation.recorded_walks import RecordedWalks
from gapless.identification import Calibration, identify
from gapless.measurement import Gap, measure, side_by_side
from gapless.measurement.replay import replay
from gapless.measurement.side_by_side import save_side_by_side
from gapless.measurement.spans import FULL
from gapless.progress import Progress, Watch
from gapless.recordings.recording import Recording
from gapless.recordings.split import Split
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import World

CLIPS, LONGEST = 12, 20.0
"""Held-out recordings that are kept to be looked at, and seconds of each."""


@dataclass(frozen=True)
class Steps:
    """What the stages share.

    Attributes:
        run: the folder.
        robot: the nominal one.
        how: the gap is closed.
        split: the recordings by their use.
        watch: told how far a stage is.
        path: of a policy that was recorded, if any, which simulators must predict.
    """

    run: Run
    robot: Robot
    how: CloseSettings
    split: Split
    watch: Watch
    path: PathPrediction | RecordedWalks | None = None

    @property
    def nominal(self) -> MujocoWorld:
        """The simulator as it was."""
        step = self.how.physics_step or 0.002
        return MujocoWorld(self.robot, self.split.learn[0].rate, physics_step=step)

    def world(self, calibration: Calibration | None, *corrections: Correction) -> CorrectedWorld:
        """The simulator with what was found."""
        return CorrectedWorld(self.nominal, calibration, corrections)

    @property
    def horizon(self) -> float:
        """Seconds that are fitted, learned and reported."""
        return self.how.horizon or 1.0

    def _within(self, stage: str) -> Watch:
        """A watch of the work of a stage."""
        return lambda now: self.watch(now.within(stage))

    def measured(
        self,
        world: World,
        stage: str,
        calibration: Calibration | None = None,
        attribution: bool = False,
    ) -> Gap:
        """The gap on the held-out motions, counted as a calibration says; it is only reported."""
        horizons = [h for h in (0.25, 0.5, 1.0) if h < self.horizon]
        test = self.split.test
        return measure(
            test if calibration is None else calibration.recordings(test),
            world,
            horizons=(*horizons, self.horizon, FULL),
            attribution=attribution,
            watch=self._within(stage),
        )

    def raw(self) -> Stage:
        """The simulator as it was, and the likely causes of its gap."""
        return Stage(self.measured(self.nominal, "raw", attribution=True))

    def identified(self) -> Stage:
        """Parameters, and what is left of the gap with them."""
        file = self.run.path / CALIBRATION
        try:
            if not file.exists():
                identify(
                    self.split.without_test(),
                    self.robot,
                    self.how.parameters or (),
                    keep_anyway=True,  # to be looked at; the stage says whether it is kept
                    settings=self.how.identification,
                    closed_loop=self.path,
                    checkpoint=self.run.path / ".calibration.progress",
                    watch=self._within("identified"),
                ).save(file)
        except ArtifactError:  # of the machine, such as a full disk: no verdict, tried again
            raise
        except GaplessError as error:
            return Stage.failed(error)
        found = Calibration.load(file)
        return Stage.judged(self.measured(self.world(found), "identified", found), found.choose)

    def corrected(self, calibrated: bool) -> Stage:
        """A correction of what parameters do not express, and what is left of the gap with it."""
        folder = self.run.path / CORRECTION
        calibration = Calibration.load(self.run.path / CALIBRATION) if calibrated else None
        try:
            if not folder.exists():
                self._learned(calibration).save(folder)
        except ArtifactError:
            raise
        except GaplessError as error:
            return Stage.failed(error)
        found = Correction.load(folder)
        world = self.world(calibration, found)
        gap = self.measured(world, "corrected", calibration)
        used = world.usage[0].to_dict()
        against = found.why_faded or self._misled(self.world(calibration), world)
        return Stage.judged(gap, found.choose, against, **used)

    def _misled(self, before: World, after: World) -> str:
        """Why a correction is not believed in the loop; nothing where it is."""
        if self.path is None:
            return ""
        errors = self.path.error(before), self.path.error(after)
        if errors[1] <= (1 + self.path.chance) * errors[0]:
            return ""
        told = " -> ".join(f"{1000 * error:.0f}" for error in errors)
        return f"under its policy the robot is predicted worse: {told} mm"

    def replayed(self) -> dict[str, Any]:
        """Some held-out recordings beside each simulator, and what the correction did in each."""
        self.watch(Progress("replays"))
        chosen = spread(list(self.split.test), CLIPS)
        worlds = self._worlds()
        full = self.robot.mount != "free"  # on a floor, small differences soon grow into falls
        clips = side_by_side(chosen, worlds, FULL if full else self.horizon)
        save_side_by_side(self.run.path / REPLAYS, clips)
        used = [self._used(r) for r in chosen] if "corrected" in worlds else []
        return {"clips": [c.name for c in clips], "usage": used}

    def _worlds(self) -> dict[str, World]:
        """The nominal world, and with each thing that was kept."""
        run, found = self.run, dict[str, World](raw=self.nominal)
        if run.calibration:
            found["identified"] = self.world(run.calibration)
        if run.correction:
            found["corrected"] = self.world(run.calibration, run.correction)
        return found

    def _used(self, recording: Recording) -> dict[str, Any]:
        """How often the correction was outside its envelope in a recording, and its outputs."""
        world = self.run.world()
        replay([recording], world, FULL)
        return {"name": recording.name, **world.usage[0].to_dict()}

    def _learned(self, calibration: Calibration | None) -> Correction:
        return correct(
            self.split.without_test(),
            self.nominal,
            calibration,
            settings=self.how.correction,
            seed=self.how.seed,
            keep_anyway=True,  # to be looked at, too
            checkpoint=self.run.path / ".correction.progress",
            watch=self._within("corrected"),
        )


def spread(recordings: list[Recording], most: int) -> list[Recording]:
    """At most so many, of different loads and motions, each no longer than LONGEST."""
    by_load: dict[str, list[Recording]] = {}
    for recording in recordings:
        by_load.setdefault(str(recording.conditions.payload_mass), []).append(recording)
    # As many of each load, evenly over its motions.
    share = -(-most // len(by_load))
    picked = [
        same[int(k)]
        for same in by_load.values()
        for k in dict.fromkeys(np.linspace(0, len(same) - 1, min(share, len(same))).round())
    ][:most]
    return [r.clip(0, min(len(r), round(LONGEST * r.rate))) for r in picked]
