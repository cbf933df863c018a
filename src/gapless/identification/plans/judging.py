"""What a calibration is worth on recordings that it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gapless.identification.calibration import Calibration
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.two_stage import by_load, carried
from gapless.measurement.judge import judged, without_loads
from gapless.recordings.recording import Recording, Recordings
from gapless.verdict import Verdict


@dataclass(frozen=True)
class Verdicts:
    """Of a calibration, and of the load that it found, where a plan has two stages."""

    own: Verdict | None
    loaded: Verdict | None = None

    @classmethod
    def mean(cls, verdicts: Sequence[Verdicts]) -> Verdicts:
        """Of several folds."""
        own = [v.own for v in verdicts if v.own is not None]
        loaded = [v.loaded for v in verdicts if v.loaded is not None]
        return cls(*(Verdict.mean(found) if found else None for found in (own, loaded)))


def verdicts_on(
    recordings: Recordings,
    motions: Sequence[str],
    calibration: Calibration,
    fitter: Fitter,
    plan: str,
    loaded: Sequence[str] | None,
) -> Verdicts:
    """Judge what each stage of a plan found, on the recordings that are its concern."""
    clips = list(recordings)
    if not clips:
        return Verdicts(None)
    own, full = clips, []
    if plan == "two-stage":
        own, full = by_load(clips, loaded)
    elif plan == "one-stage":
        own = carried(clips, loaded)
    found = Verdicts(_verdict(own, motions, calibration, fitter))
    if calibration.loaded is None:
        return found
    return replace(found, loaded=_verdict(full, motions, calibration.loaded, fitter))


def _verdict(
    clips: list[Recording],
    motions: Sequence[str],
    calibration: Calibration,
    fitter: Fitter,
) -> Verdict | None:
    """The error in the robot before a stage and after it."""
    if not clips:
        return None
    base, rate = calibration.base, clips[0].rate
    before = fitter.world(rate, *((None, None) if base is None else base.apply(fitter.robot)))
    after = fitter.world(rate, *calibration.apply(fitter.robot))
    clips = without_loads(clips) if calibration.finds_loads else clips
    return judged(clips, before, after, fitter.settings.horizon, motions)
