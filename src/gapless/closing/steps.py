"""The stages of a run: each returns what its file will hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.closing.close_settings import CloseSettings
from gapless.closing.run import CALIBRATION, CORRECTION, REPLAYS, Run
from gapless.corrections import CorrectedWorld, Correction, correct
from gapless.errors import GaplessError
from gapless.identification import Calibration, IdentifySettings, identify
from gapless.measurement import Gap, measure, side_by_side
from gapless.measurement.replay import replay
from gapless.measurement.side_by_side import save_side_by_side
from gapless.measurement.spans import FULL
from gapless.recordings.recording import Recording
from gapless.recordings.split import Split
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import World

Watch = Callable[[str, str], None]
"""Told the stage and how far it is."""

CLIPS, LONGEST = 12, 20.0
"""Held-out recordings that are kept to be looked at, and seconds of each."""


@dataclass(frozen=True)
class Steps:
    """What the stages share.

    Attributes:
        run: the folder.
        robot: the nominal one.
        chosen: how the gap is closed.
        split: the recordings by their use.
        say: told how far a stage is.
    """

    run: Run
    robot: Robot
    chosen: CloseSettings
    split: Split
    say: Watch

    @property
    def nominal(self) -> MujocoWorld:
        """The simulator as it was."""
        return MujocoWorld(self.robot, self.train[0].rate, physics_step=self.chosen.physics_step)

    def world(self, calibration: Calibration | None, *corrections: Correction) -> CorrectedWorld:
        """The simulator with what was found."""
        return CorrectedWorld(self.nominal, calibration, corrections)

    @property
    def train(self) -> list[Recording]:
        """All that does not judge."""
        chosen = {id(r): r for r in (*self.split.train, *self.split.validation)}
        return list(chosen.values())

    def measured(self, world: World, stage: str, attribution: bool = False) -> dict[str, Any]:
        """The gap on the motions that judge."""
        self.say(stage, "measuring")
        horizons = [h for h in (0.25, 0.5, 1.0) if h < self.chosen.horizon]
        gap: Gap = measure(
            self.split.held_out,
            world,
            horizons=(*horizons, self.chosen.horizon, "full"),
            attribution=attribution,
        )
        return {"gap": gap.to_dict(), "error": gap.mean("mpjae", self.chosen.horizon).value}

    def identified(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Figures, and what is left of the gap with them."""
        file = self.run.path / CALIBRATION
        settings = IdentifySettings(
            horizon=self.chosen.horizon,
            windows=self.chosen.windows,
            physics_step=self.chosen.physics_step,
        )
        try:
            if not file.exists():
                identify(
                    self.train,
                    self.robot,
                    self.chosen.parameters,
                    held_out=self.split.held_out,
                    keep_anyway=True,  # it is judged below, and kept to be looked at
                    settings=settings,
                    checkpoint=self.run.path / ".calibration.progress",
                    watch=lambda stage, p: self.say("identified", f"{stage}, {p.error:.5f} rad"),
                ).save(file)
        except GaplessError as error:
            return {"kept": False, "why": str(error)}
        left = self.measured(self.world(Calibration.load(file)), "identified")
        return {**left, **_verdict(left["error"], raw["error"])}

    def corrected(self, identified: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
        """A correction of what figures do not express, and what is left of the gap with it."""
        folder = self.run.path / CORRECTION
        calibration = Calibration.load(self.run.path / CALIBRATION) if identified["kept"] else None
        before = identified["error"] if identified["kept"] else raw["error"]
        try:
            if not folder.exists():
                self._learned(calibration).save(folder)
        except GaplessError as error:
            return {"kept": False, "why": str(error)}
        world = self.world(calibration, Correction.load(folder))
        left = self.measured(world, "corrected")
        usage = world.usage[0].to_dict()
        return {**left, **_verdict(left["error"], before), "usage": usage}

    def replayed(self) -> dict[str, Any]:
        """Some held-out recordings beside each simulator, and what the correction did in each."""
        self.say("replays", "playing")
        chosen = spread(self.split.held_out, CLIPS)
        worlds = self._worlds()
        full = self.robot.mount != "free"  # on a floor, small differences soon grow into falls
        clips = side_by_side(chosen, worlds, FULL if full else self.chosen.horizon)
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
            self.train,
            self.nominal,
            calibration,
            held_out=0.0,
            seed=self.chosen.seed,
            checkpoint=self.run.path / ".correction.progress",
            watch=lambda done, *_: self.say("corrected", f"training, {done:.0%}"),
            model=self.chosen.model,
            model_settings=self.chosen.model_settings,
            members=self.chosen.members,
            horizon=self.chosen.horizon,
            trainer_settings=self.chosen.trainer_settings,
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


def _verdict(after: float, before: float) -> dict[str, Any]:
    better = after < before
    why = "" if better else f"held-out error {after:.5f} rad, {before:.5f} rad without it"
    return {"kept": better, "why": why}
