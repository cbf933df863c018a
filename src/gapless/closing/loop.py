"""close(): check, split, measure, identify, learn what is left, verify, and keep what helps."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Any

from gapless.artifact import write_json, write_text_atomic
from gapless.closing.close_settings import CloseSettings, suited
from gapless.closing.run import Run
from gapless.closing.steps import Steps
from gapless.corrections.correcting import fingerprint
from gapless.errors import DataError
from gapless.progress import Progress, Watch
from gapless.recordings.checks import check_dataset
from gapless.recordings.recording import Recording, Recordings
from gapless.recordings.split import Split, divided
from gapless.robots import Robot

NAMED = 5
"""Recordings that a note names."""

PIECES = 4
"""Stretches that a single motion is cut into, so that one can be held out."""


def close(
    dataset: Recordings,
    robot: Robot,
    out: str | Path,
    *,
    restart: bool = False,
    watch: Watch | None = None,
    **others: Any,
) -> Run:
    """Close the gap between a robot and its simulator.

    Args:
        dataset: recordings of the robot, with commands.
        robot: the nominal robot.
        out: folder of the run; the same call goes on where an earlier one was stopped.
        restart: forget an earlier run in that folder.
        watch: told how far it is.
        others: fields of `CloseSettings` that are to be otherwise than `suited` has them.
    """
    watch = watch or (lambda _: None)
    watch(Progress("check"))
    every = [dataset[i] for i in range(len(dataset))]
    recordings, notes = usable(every)
    chosen = suited(recordings, robot).with_others(others)
    chosen.refuse_unknown(robot)
    split = divided(recordings, chosen.held_out, chosen.units, chosen.seed)
    notes += _doubts(split)
    facts = _facts(dataset, recordings, robot, chosen, split, notes)
    job = Steps(Run.begin(Path(out), robot, facts, restart), robot, chosen, split, watch)
    job.run.stage("check", lambda: check_dataset(every, robot).to_dict())
    raw = job.run.stage("raw", lambda: job.measured(job.nominal, "raw", attribution=True))
    identified = job.run.stage("identified", lambda: job.identified(raw))
    corrected = job.run.stage("corrected", lambda: job.corrected(identified, raw))
    job.run.stage("replays", job.replayed)
    stages = {"raw": raw, "identified": identified, "corrected": corrected}
    job.run.stage("summary", lambda: summary(stages, chosen))
    _publish(job.run)
    return job.run


def usable(recordings: list[Recording]) -> tuple[list[Recording], list[str]]:
    """Recordings fit for learning, and what people should know; a single motion is cut."""
    found = [r for r in recordings if not r.provenance.get("flags") and r.target is not None]
    if not found:
        raise DataError("no recording can be used; see gapless check")
    notes = _left_out([r for r in recordings if not any(r is f for f in found)])
    if len({r.name for r in found}) > 1:
        return found, notes
    pieces = [
        replace(r.clip(k * len(r) // PIECES, (k + 1) * len(r) // PIECES), name=f"{r.name}#{k + 1}")
        for r in found
        for k in range(PIECES)
    ]
    note = (
        f"there is one motion only ({found[0].name}), so whole motions cannot be held out: it was "
        f"cut into {PIECES} pieces, of which one judges. Record other motions to be sure"
    )
    return pieces, [*notes, note]


def _left_out(recordings: list[Recording]) -> list[str]:
    """Which recordings are not used, and why."""
    if not recordings:
        return []
    why = [
        f"{r.name} ({', '.join(r.provenance.get('flags') or ['no commands'])})" for r in recordings
    ]
    more = f" and {len(why) - NAMED} more" if len(why) > NAMED else ""
    return [f"left out: {', '.join(why[:NAMED])}{more}; gapless check says what is wrong with them"]


def _doubts(split: Split) -> list[str]:
    judges = {r.name for r in split.held_out}
    if len(judges) > 1:
        return []
    return [
        f"one motion judges ({judges.pop()}): with another one (--set seed=1) the figures may be "
        "quite different. Record more motions to be sure"
    ]


def summary(stages: dict[str, dict[str, Any]], chosen: CloseSettings) -> dict[str, Any]:
    """Error of each stage, over all and by payload, and whether it was kept."""
    rows = {}
    for name, found in stages.items():
        if "gap" not in found:
            rows[name] = {"kept": False, "why": found.get("why", "")}
            continue
        at = next(s for s in found["gap"]["summary"] if s["horizon"] == chosen.horizon)
        payloads = {load: mean["value"] for load, mean in at["by"]["payload"].items()}
        rows[name] = {
            "error": found["error"],
            "payloads": payloads,
            "kept": found.get("kept", True),
            "why": found.get("why", ""),
        }
    return {"horizon": chosen.horizon, "metric": "mpjae", "unit": "rad", "rows": rows}


def _facts(
    dataset: Recordings,
    recordings: list[Recording],
    robot: Robot,
    chosen: CloseSettings,
    split: Split,
    notes: list[str],
) -> dict[str, Any]:
    names = {
        "train": sorted({r.name for r in (*split.train, *split.validation)}),
        "held_out": sorted({r.name for r in split.held_out}),
    }
    choices = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(chosen).items()}
    return _as_json(
        {
            "robot": {
                "name": robot.name,
                "source": robot.source or robot.name,
                "mount": robot.mount,
                "lock": dict(robot.locked),
                "fingerprint": robot.fingerprint(),
            },
            "data": {
                "path": str(Path(path).resolve()) if (path := getattr(dataset, "path", "")) else "",
                "rate": recordings[0].rate,
                "recordings": len(recordings),
                "seconds": round(sum(r.duration for r in recordings), 1),
                "fingerprint": fingerprint(recordings),
            },
            "choices": choices,
            "split": names,
            "notes": notes,
        }
    )


def _as_json(facts: dict[str, Any]) -> dict[str, Any]:
    """As it is read back: JSON has lists, not tuples."""
    return json.loads(json.dumps(facts))


def _publish(run: Run) -> None:
    """Write what other tools use: MJCF, randomisation ranges, a program that loads the world."""
    calibration = run.calibration
    if calibration is not None:
        write_text_atomic(run.path / "robot.xml", calibration.to_mjcf(run.robot))
        ranges = {name: list(pair) for name, pair in calibration.ranges().items()}
        write_json(run.path / "ranges.json", ranges)
    program = resources.files("gapless.closing").joinpath("use.py.txt").read_text("utf-8")
    write_text_atomic(run.path / "use.py", program)
    for file in run.path.glob(".*.progress"):  # nothing is left to go on with
        file.unlink()
