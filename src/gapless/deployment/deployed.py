"""Deployed: what a run on a robot was like; the answer first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.deployment.control_loop import LoopReport
from gapless.deployment.transitions import DAMP

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Deployed:
    """What a run was like.

    Attributes:
        robot: its name.
        link: as it was asked for.
        seconds: that the loop ran.
        stages: that the robot was in, in order.
        refused: stages of a plan that were left out, and why.
        report: of the loop.
        granted: what of soft real time the system allowed.
        armed: False for a dry run: nothing was sent.
        recorded: the dataset; None where there is none.
        lost: control steps that were not recorded.
        unrecorded: why there is no dataset although one was asked for.
        adapted: hand -> what was believed at the end to be in it, and its joints to lack.
    """

    robot: str
    link: str
    seconds: float
    stages: tuple[str, ...]
    refused: tuple[str, ...]
    report: LoopReport
    granted: tuple[str, ...]
    armed: bool
    recorded: Path | None
    lost: int = 0
    unrecorded: str = ""
    adapted: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether it ended as it was meant to: not damped before, nothing refused."""
        return not self.failed and not self.refused

    @property
    def failed(self) -> bool:
        """Whether it was damped by something else than a request; a fall after that is none."""
        return self.report.damped is not None and (self.stages[-1] != DAMP or len(self.stages) == 1)

    @property
    def answer(self) -> str:
        """One sentence."""
        said = "flown" if self.armed else "dry run of"
        end = f"DAMPED: {self.report.damped}" if self.failed else "to its end"
        events = sum(self.report.counts.values())
        work = {k: 1000 * v for k, v in self.report.timings["step"].items()}
        own = 1000 * self.report.timings["processor"]["p99"]
        return (
            f"{self.robot}: {said} {self.seconds:.1f} s ({' > '.join(self.stages)}), {end}; "
            f"{events} events; the loop's own work p50 {work['p50']:.2f}, p99 {work['p99']:.2f}, "
            f"max {work['max']:.2f} ms by the clock, p99 {own:.2f} ms of processor; "
            f"{self.report.missed} of {self.report.steps} deadlines missed"
        )

    def lines(self) -> Iterator[str]:
        """The answer, and what somebody must know besides."""
        yield self.answer
        yield from (f"left out: {why}" for why in self.refused)
        for hand, found in self.adapted.items():
            worst = max(map(abs, found["offsets_nm"].values()))
            yield (
                f"{hand}: {found['kg']:.2f} ± {found['std']:.2f} kg believed at the end, joints "
                f"{worst:.2f} N·m off at most; {found['rollbacks']} rollbacks"
                + (f"; see {beliefs_of(self.recorded)}" if self.recorded else "")
            )
        if self.unrecorded:
            yield self.unrecorded
        if self.lost:
            yield f"{self.lost} control steps were not recorded"
        if not self.armed:
            yield "nothing was sent and nothing recorded; --arm sends"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON form."""
        report = asdict(self.report)
        report["events"] = [str(event) for event in self.report.events]
        report["damped"] = None if self.report.damped is None else str(self.report.damped)
        return {
            "answer": self.answer,
            "ok": self.ok,
            **{
                k: getattr(self, k)
                for k in ("robot", "link", "seconds", "armed", "lost", "unrecorded")
            },
            "stages": list(self.stages),
            "refused": list(self.refused),
            "granted": list(self.granted),
            "adapted": self.adapted,
            "recorded": None if self.recorded is None else str(self.recorded),
            **report,
        }

    def table(self) -> Table:
        """How long each part of a control step took."""
        from rich.table import Table

        table = Table("part", "p50 ms", "p99 ms", "max ms", title="the loop's own work")
        for part, found in self.report.timings.items():
            table.add_row(part, *(f"{1000 * found[k]:.2f}" for k in ("p50", "p99", "max")))
        return table


def beliefs_of(recorded: Path) -> Path:
    """Where the log of what an adaptation believed is, beside the recordings."""
    return recorded.with_name(f"{recorded.name}.beliefs.json")
