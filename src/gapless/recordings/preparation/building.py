"""The recordings of one arranged log: built, checked for content, and written down."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.recordings.findings import Finding
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation import clock, orientation, placement, quality, units
from gapless.recordings.preparation.delay import Delay
from gapless.recordings.preparation.episodes import MIN_FRAMES, EpisodeFrames, cut, frames
from gapless.recordings.preparation.joint_names import Arranged
from gapless.recordings.preparation.resample import fill, slope
from gapless.recordings.rawlog import RawLog
from gapless.recordings.recording import Recording

if TYPE_CHECKING:
    from gapless.robots.robot import Robot


@dataclass(frozen=True)
class Builder:
    """Turns one log (clocks in seconds) into recordings.

    Attributes:
        name: the motion.
        log: for its streams' times, notes, pairing and source.
        arranged: its streams in the robot's joints and radians.
        robot: whose recordings they become.
        options: what the user declared.
        rate: samples a second of the grid.
    """

    name: str
    log: RawLog
    arranged: Arranged
    robot: Robot
    options: ImportOptions
    rate: float


@dataclass
class Built:
    """Recordings with what was said on the way; `problems` are reasons to refuse the log."""

    recordings: list[Recording] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def build(builder: Builder, moved: int) -> Built:
    """Recordings on the grid, with the commands moved by some rows of the log.

    Raises:
        DataError: the streams' clocks cannot be cut into common episodes.
    """
    episodes, findings = cut(builder.arranged.streams, moved)
    built = Built(findings=findings)
    for episode in episodes:
        made = frames(episode, builder.rate, builder.options.max_gap, builder.arranged.logged)
        if made is not None:
            _append(builder, built, made)
    short = len(episodes) - len(built.recordings)
    words = f"fewer than {MIN_FRAMES} usable frames at {builder.rate:g} Hz"
    if not built.recordings:
        count = len(builder.arranged.streams["q"].time)
        built.problems.append(f"{count} samples of q leave {words} in every episode")
    elif short:
        text = f"{short} episodes with {words} were dropped"
        built.findings.append(Finding("warning", "short", text, count=short))
    return built


def _append(builder: Builder, built: Built, made: EpisodeFrames) -> None:
    q = fill(_with_held(builder, made.values["q"]))
    target = made.values.get("target")
    speed = slope(q, made.mask, builder.rate)
    dq, source, findings = units.velocity(speed, made.mask, made.values.get("dq"))
    channels = {k: v for k, v in made.values.items() if k not in ("q", "target", "dq")}
    # Where nothing was commanded beside the target, the motor got no feed-forward.
    channels |= {k: np.nan_to_num(channels[k]) for k in placement.COMMANDS if k in channels}
    recording = Recording(
        builder.name,
        tuple(builder.robot.joints.names),
        float(builder.rate),
        q,
        None if target is None else fill(_with_held(builder, target)),
        made.mask,
        {"dq": dq, **channels},
        builder.arranged.conditions,
        {"masked": dict(made.masked), "interpolated": made.interpolated, "dq": source},
    )
    built.recordings.append(recording)
    built.findings += findings
    problem = units.speed_problem(speed, made.mask, builder.robot.joints)
    built.problems += [] if problem is None else [problem]


def _with_held(builder: Builder, values: np.ndarray) -> np.ndarray:
    out = values.copy() if builder.arranged.conditions.held else values
    for joint, position in builder.arranged.conditions.held.items():
        out[:, builder.robot.joints.names.index(joint)] = position
    return out


def finish(builder: Builder, built: Built, delay: Delay, moved: int) -> Built:
    """Check the content, mask what is stuck, and write down where everything came from."""
    done = Built(findings=[*built.findings], problems=[*built.problems])
    for number, recording in enumerate(built.recordings):
        bad, findings = quality.stuck(recording)
        bad &= not builder.options.keep_still
        masked = Counter(recording.provenance["masked"]) + Counter(stuck=int(bad.sum()))
        flat, flats = quality.saturated(recording)
        recording = _without_torque(replace(recording, mask=recording.mask & ~bad), flat)
        findings += flats + _content(builder, recording)
        many = len(built.recordings) > 1
        part = f"part {number + 1}: " if many else ""
        findings = [replace(f, message=part + f.message).of(builder.name) for f in findings]
        facts = _provenance(builder, findings, delay, moved) | recording.provenance
        facts |= {"masked": dict(masked), "torque_saturated": int(flat.sum())}
        done.recordings.append(replace(recording, provenance=facts))
        done.findings += findings
        done.problems += _refusals(builder, recording, masked, findings)
    return done


def _content(builder: Builder, recording: Recording) -> list[Finding]:
    degrees = (builder.options.angle_unit or builder.log.angle_unit) == "deg"
    return [
        *_interpolated(recording.provenance["interpolated"]),
        *quality.followed(recording),
        *quality.beyond_limits(recording, builder.robot),
        *orientation.check_order(recording),
        *orientation.check_renewal(recording),
        *(units.tiny_angles(recording.q, recording.mask) if degrees else []),
    ]


def _interpolated(count: int) -> list[Finding]:
    if not count:
        return []
    text = (
        f"{count} frames lie where a few samples are missing: states were interpolated, commands "
        "held (--max-gap sets how far)"
    )
    return [Finding("info", "interpolated", text, count=count)]


def _without_torque(recording: Recording, flat: np.ndarray) -> Recording:
    """No torque where its channel is saturated: the motor's own is not known there."""
    if not flat.any():
        return recording
    torque = np.where(flat, np.nan, recording.channels["torque"])
    return replace(recording, channels={**recording.channels, "torque": torque})


def _refusals(
    builder: Builder, recording: Recording, masked: Counter[str], findings: list[Finding]
) -> list[str]:
    wrong = [f.message for f in findings if f.code == "quat_order" and f.severity == "error"]
    # A stuck encoder costs its own joint only, and is listed; missing data cost the whole log.
    lost = {why: count for why, count in masked.items() if why != "stuck"}
    share = sum(lost.values()) / recording.mask[:, builder.arranged.logged].size
    bound = builder.options.max_masked
    if share <= bound:
        return wrong
    reasons = ", ".join(f"{why} {count}" for why, count in lost.items())
    text = f"{share:.0%} of the samples are unusable ({reasons}); the bound is {bound:.0%}"
    return [*wrong, f"{text} (--max-masked{', --max-gap' if 'gap' in lost else ''})"]


def _provenance(
    builder: Builder, findings: list[Finding], delay: Delay, moved: int
) -> dict[str, Any]:
    rate, notes = builder.rate, [f.message for f in findings if f.severity != "error"]
    return {
        "source": PurePath(builder.log.source).name,
        "native_rate": round(1.0 / clock.interval(builder.log.streams["q"].time), 3),
        "moved_steps": moved,
        "delay_s": round(delay.lag / rate, 6) if delay.known else None,
        "delay_std_s": round(delay.std / rate, 6) if delay.known else None,
        "notes": [*builder.log.notes, *notes],
        "flags": sorted({f.code for f in findings if f.severity == "error"}),
    }
