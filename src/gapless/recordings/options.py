"""What a user may declare about a log, and the bounds beyond which it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Literal

from gapless.errors import DataError, unknown
from gapless.recordings.preparation.trimming import trim_problem
from gapless.recordings.rawlog import AngleUnit, TimeUnit, Trim
from gapless.robots.payload import Payload

HIGHEST_RATE = 10_000


@dataclass(frozen=True)
class ImportOptions:
    """Everything about a log that the log itself may not say."""

    rate: int | None = None
    """Samples a second of the dataset; by default the lowest rate of the logs, rounded."""
    time_unit: TimeUnit | None = None
    """Unit of the log's clock; inferred from the sampling interval when not given."""
    angle_unit: AngleUnit | None = None
    """Unit of the log's angles; the format's own when not given."""
    hold: str | None = None
    """Joints the log lacks: "default" (standing pose), "zero", or "joint=rad,joint=rad"."""
    command_acts: Literal["after", "produced"] | None = None
    """Row k's command acts "after" state k, or "produced" it; for logs that do not say."""
    trim: Trim | None = None
    """Use only START to END of each log, s from its first sample; an END of 0 or less counts from
    the end of the log, e.g. 1 -0.5."""
    max_gap: float | None = None
    """Longest interruption (s) that is bridged, and counted; default three samples."""
    max_masked: float = 0.2
    """Largest share of samples that may be unusable before a log is refused."""
    keep_still: bool = False
    """Joints that stand still while commanded to move are held by friction: do not mask them."""
    unit: str | None = None
    """Serial number or name of the individual robot."""
    mount: str | None = None
    """How the robot stood: "free", "fixed" or the name of the clamped link."""
    payload: str | None = None
    """Loads as "link=kg,link=kg"; "none" says that the robot carried nothing."""
    motion: str | None = None
    """Name of the motion, instead of the log's own; of a policy, its reference or velocity."""
    policy: str | None = None
    """Policy that commanded the robot; its targets never repeat, so --motion says what it did."""
    joint_order: tuple[str, ...] | None = None
    """Joint names in column order, for formats that carry none."""
    mapping: Path | None = None
    """TOML file that says which column is what (formats "generic" and "mcap")."""
    exclude_flagged: bool = False
    """Leave recordings with an error finding out of the dataset instead of flagging them."""

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise DataError("; ".join(problems))
        parse_payloads(self.payload)

    def _problems(self) -> Iterator[str]:
        rate, gap, share = self.rate, self.max_gap, self.max_masked
        if rate is not None and not (1 <= rate <= HIGHEST_RATE and rate == int(rate)):
            yield f"--rate is {rate}, expected a whole number from 1 to {HIGHEST_RATE} Hz"
        if self.trim is not None and (problem := trim_problem(self.trim)):
            yield f"--trim {problem}"
        if gap is not None and not 0 < gap < inf:
            yield f"--max-gap is {gap}, expected seconds above 0, for example 0.1"
        if self.policy and not self.motion:
            yield (
                "--policy needs --motion: what the policy was asked to do (its reference motion or "
                "velocity command), by which its recordings are split"
            )
        if not 0 <= share <= 1:
            yield f"--max-masked is {share}, expected a share from 0 to 1, for example 0.2"


def parse_pairs(text: str, option: str, example: str) -> dict[str, float]:
    """Parse "name=number,name=number"."""
    pairs: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, number = part.partition("=")
        try:
            pairs[name.strip()] = float(number)
        except ValueError:
            raise DataError(
                f"{option} {text!r}: {part!r} is not name=number; for example {example}"
            ) from None
    return pairs


def parse_payloads(text: str | None) -> dict[str, Payload] | None:
    """Loads by link; None where nothing was declared."""
    if text is None:
        return None
    if text.strip().lower() in ("none", "0", ""):
        return {}
    pairs = parse_pairs(text, "--payload", "--payload left_hand=1.5")
    for link, mass in pairs.items():
        if not 0 <= mass < inf:
            raise DataError(f"--payload {text!r}: {link} carries {mass} kg; a load is 0 kg or more")
    return {link: Payload(mass) for link, mass in pairs.items()}


def held_positions(
    hold: str | None, joints: tuple[str, ...], default: list[float]
) -> dict[str, float]:
    """Positions (rad) declared for joints that may be absent from a log."""
    if hold is None:
        return {}
    if hold == "default":
        return dict(zip(joints, default, strict=True))
    if hold == "zero":
        return dict.fromkeys(joints, 0.0)
    pairs = parse_pairs(hold, "--hold", "--hold default, or --hold waist_yaw_joint=0.1")
    for name in pairs:
        if name not in joints:
            raise unknown("joint in --hold", name, joints)
    return pairs
