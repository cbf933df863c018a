"""An Evaluation: one policy in several simulators, side by side; what fails first, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import provenance, read_json, write_json
from gapless.errors import FormatError, unknown
from gapless.evaluation.falls import Fall, describe_falls
from gapless.evaluation.scenario import Scenario
from gapless.field_kinds import wrong_fields
from gapless.printing import PrintsAsTables

FORMAT = "gapless evaluation 1"


@dataclass(frozen=True)
class WorldScores:
    """A policy's episodes in one simulator.

    Attributes:
        world: raw, identified, corrected, or what it was called.
        identity: of the simulator.
        survived: of each episode.
        seconds: until it fell, or all.
        commands: what each episode was asked first, as text.
        scores: name -> a number of each episode; None where it says nothing.
        peaks: joint -> largest torque of its limit.
        falls: every one.
    """

    world: str
    identity: Mapping[str, Any]
    survived: tuple[bool, ...]
    seconds: tuple[float, ...]
    commands: tuple[str, ...]
    scores: Mapping[str, tuple[float | None, ...]]
    peaks: Mapping[str, float]
    falls: tuple[Fall, ...]

    @property
    def survival(self) -> float:
        """Share of the episodes that stood to the end."""
        return float(np.mean(self.survived))

    @property
    def survival_error(self) -> float:
        """One standard error of it, by Laplace's rule so that it is never none."""
        n = len(self.survived)
        share = (sum(self.survived) + 1) / (n + 2)
        return float(np.sqrt(share * (1 - share) / (n + 3)))

    def mean(self, name: str) -> float:
        """Over the episodes in which a score says something; NaN where it never does."""
        if name not in self.scores:
            raise unknown("score", name, self.scores)
        known = [v for v in self.scores[name] if v is not None]
        return float(np.mean(known)) if known else float("nan")

    @property
    def worst(self) -> int:
        """The episode that fell first; where none did, the one that leaned most."""
        if not all(self.survived):
            return int(np.argmin(np.where(self.survived, np.inf, self.seconds)))
        return int(np.argmax([v or 0.0 for v in self.scores["tilt"]]))


@dataclass(frozen=True)
class Sensitivity:
    """What one parameter, moved within its interval, costs.

    Attributes:
        parameter: its name.
        interval: its 95 % interval.
        survival: at the identified value, at the lower and at the upper end.
        error: velocity error (of a tracker E_g-mpjpe) at the same three.
    """

    parameter: str
    interval: tuple[float, float]
    survival: tuple[float, float, float]
    error: tuple[float, float, float]

    @property
    def cost(self) -> float:
        """Largest loss of survival within the interval."""
        return self.survival[0] - min(self.survival[1:])

    @property
    def error_cost(self) -> float:
        """Largest rise of the error within the interval."""
        return max(self.error[1:]) - self.error[0]


@dataclass(frozen=True)
class Evaluation(PrintsAsTables):
    """What is known of a policy before it meets the robot.

    Attributes:
        policy: its name.
        robot: its name.
        scenario: what was asked and done.
        worlds: raw first, then what was identified and learned.
        sensitivity: parameters that matter, the costliest first.
        notes: of the policy's contract and of the run.
        made_by: software.
    """

    policy: str
    robot: str
    scenario: Scenario
    worlds: tuple[WorldScores, ...]
    sensitivity: tuple[Sensitivity, ...] = ()
    notes: tuple[str, ...] = ()
    made_by: Mapping[str, Any] = field(default_factory=provenance)

    def __getitem__(self, world: str) -> WorldScores:
        for scores in self.worlds:
            if scores.world == world:
                return scores
        raise unknown("world", world, [s.world for s in self.worlds])

    @property
    def answer(self) -> str:
        """The one line that was asked for."""
        shares = ", ".join(f"{100 * w.survival:.0f} % {w.world}" for w in self.worlds)
        last = self.worlds[-1]
        if not last.falls:
            joint, peak = max(last.peaks.items(), key=lambda item: item[1], default=("", 0.0))
            near = f"; nearest to its limit is {joint} at {100 * peak:.0f} %" if joint else ""
            return f"survives {shares}{near}"
        return f"survives {shares}; {describe_falls(list(last.falls))}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"format": FORMAT, "answer": self.answer, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Any, where: str = "evaluation") -> Evaluation:
        """Inverse of `to_dict`."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FormatError(f"{where} is no evaluation (format {FORMAT!r})")
        try:
            found = cls._read(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"{where} is damaged: {error!r}") from error
        wrong = list(wrong_fields(found))
        if wrong or not found.worlds or not all(_episodes_agree(w) for w in found.worlds):
            why = "; ".join(wrong) or "its episodes are none, or differ in number"
            raise FormatError(f"{where} is damaged: {why}")
        return found

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Evaluation:
        scenario = dict(data["scenario"])
        scenario["commands"] = tuple(tuple(c) for c in scenario["commands"])
        return cls(
            policy=str(data["policy"]),
            robot=str(data["robot"]),
            scenario=Scenario(**scenario),
            worlds=tuple(_scores(entry) for entry in data["worlds"]),
            sensitivity=tuple(_sensitivity(entry) for entry in data["sensitivity"]),
            notes=tuple(data["notes"]),
            made_by=dict(data["made_by"]),
        )

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all."""
        write_json(Path(path), self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Evaluation:
        """Read what `save` wrote."""
        return cls.from_dict(read_json(Path(path)), str(path))

    def with_sensitivity(self, found: Sequence[Sensitivity]) -> Evaluation:
        """The same with what parameters cost, the costliest first."""
        ranked = sorted(found, key=lambda s: (-s.cost, -s.error_cost))
        return replace(self, sensitivity=tuple(ranked))

    def __rich__(self) -> Any:
        from gapless.evaluation.evaluation_tables import evaluation_tables

        return evaluation_tables(self)


def _episodes_agree(scores: WorldScores) -> bool:
    """Whether every list has a number for each of one or more episodes."""
    listed = (scores.survived, scores.seconds, scores.commands, *scores.scores.values())
    return len({len(each) for each in listed}) == 1 and len(scores.survived) > 0


def _sensitivity(entry: dict[str, Any]) -> Sensitivity:
    numbers = (tuple(entry[k]) for k in ("interval", "survival", "error"))
    return Sensitivity(str(entry["parameter"]), *numbers)


def _scores(entry: dict[str, Any]) -> WorldScores:
    return WorldScores(
        **{
            **entry,
            "survived": tuple(entry["survived"]),
            "seconds": tuple(entry["seconds"]),
            "commands": tuple(entry["commands"]),
            "scores": {k: tuple(v) for k, v in entry["scores"].items()},
            "falls": tuple(Fall(**fall) for fall in entry["falls"]),
        }
    )
