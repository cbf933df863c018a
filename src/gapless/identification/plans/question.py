"""A Question: which parameters are looked for, by which plan; and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gapless.identification.calibration import Calibration
from gapless.identification.plans.fit_parts import fitter_of, make_parts
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.fleet import fleet
from gapless.identification.plans.ladder import AUTO
from gapless.identification.plans.two_stage import is_loaded, one_stage, two_stage
from gapless.progress import Watch
from gapless.recordings import Dataset
from gapless.recordings.recording import Recording, Recordings

PLANS = ("per-joint", "whole", "one-stage", "two-stage", "fleet")


@dataclass(frozen=True)
class Question:
    """What is looked for, and in which order.

    Attributes:
        plan: one of `PLANS`.
        parameters: sets, kinds or names; "auto" lets a ladder find them.
        payload: what the second stage of two finds.
        loaded: names or patterns of loaded recordings; None is those that state a load.
    """

    plan: str
    parameters: str | Sequence[str]
    payload: str | Sequence[str]
    loaded: Sequence[str] | None

    @property
    def climbs(self) -> bool:
        """Whether a ladder finds which parameters are free."""
        return self.parameters == AUTO or tuple(self.parameters) == (AUTO,)

    @property
    def names(self) -> list[str]:
        """Parameters of all stages."""
        stages = {"one-stage": [self.payload], "two-stage": [self.parameters, self.payload]}
        asked = stages.get(self.plan, [self.parameters])
        return [n for p in asked for n in ([p] if isinstance(p, str) else p)]

    def is_loaded(self, recording: Recording) -> bool:
        """Whether it teaches the second stage of a plan that has one."""
        return self.plan in ("one-stage", "two-stage") and is_loaded(recording, self.loaded)

    def answer(self, fitter: Fitter, recordings: Recordings) -> Calibration:
        """Follow the plan."""
        clips = list(recordings)
        if self.plan == "two-stage":
            return two_stage(fitter, clips, self.parameters, self.payload, self.loaded)
        if self.plan == "one-stage":
            return one_stage(fitter, clips, self.payload, self.loaded)
        if self.plan == "fleet":
            return fleet(fitter, clips, self.parameters)
        quick = self.plan == "per-joint"
        return fitter.calibration(clips, self.parameters, quick_start=quick)

    def make_answers(self, fitter: Fitter, asked: Mapping[Fitter, Recordings]) -> None:
        """Let workers, where there are any, find answers that do not wait for each other.

        Args:
            fitter: whose workers do it.
            asked: fitter of each answer -> the recordings.
        """
        told = {"question": asdict(self)}
        parts = {own: (recordings, told) for own, recordings in asked.items()}
        make_parts(fitter, f"{__name__}:answer_part", parts)


def answer_part(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """The task of one answer, whose fits are kept where the plan looks for them."""
    fitter = fitter_of(asked, files, out, watch)
    Question(**asked["question"]).answer(fitter, Dataset.open(files["recordings"]))
