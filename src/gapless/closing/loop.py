"""close(): check, split, measure, identify, learn what is left, verify, and keep what helps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from gapless.artifact import write_json, write_text_atomic
from gapless.closing.close_settings import CloseSettings
from gapless.closing.run import Run
from gapless.closing.run_folder import held
from gapless.closing.stage import METRIC, Stage
from gapless.closing.steps import Steps
from gapless.corrections.correction_training import fingerprint, least_seconds
from gapless.corrections.payload_input import refuse_unstated
from gapless.evaluation.path_prediction import PathPrediction
from gapless.evaluation.recorded_walks import RecordedWalks
from gapless.policies import Policy
from gapless.progress import Progress, Watch
from gapless.recordings.checks import check_dataset
from gapless.recordings.recording import Recording, Recordings
from gapless.recordings.split import Split
from gapless.recordings.splitting import split_recordings, usable
from gapless.robots import Robot
from gapless.robots.missing_files import missing_notes

NAMED = 5
"""Recordings that a note names."""


def close(
    dataset: Recordings,
    robot: Robot,
    out: str | Path,
    *,
    settings: CloseSettings | None = None,
    policy: Policy | None = None,
    restart: bool = False,
    watch: Watch | None = None,
) -> Run:
    """Close the gap between a robot and its simulator.

    Args:
        dataset: recordings of the robot, with commands.
        robot: the nominal robot.
        out: folder of the run; the same call resumes one that was stopped.
        settings: how; what it leaves open is set to suit the recordings.
        policy: that the robot was recorded under: the simulator must predict, too, where it takes
            the robot (takes of a motion from its start), or how it walks under its commands.
        restart: forget an earlier run in that folder.
        watch: told how far it is.
    """
    watch = watch or (lambda _: None)
    watch(Progress("check"))
    every = list(dataset)
    recordings = usable(every)
    asked = settings or CloseSettings()
    split = split_recordings(
        recordings,
        test=asked.test,
        choose=asked.choose,
        units=asked.units,
        seed=asked.seed,
        learn=asked.learn,
    )
    how = asked.suited_to([*split.learn, *split.choose], robot)  # what tests decides nothing
    correction = how.correction.suited_to(split, least_seconds(split), robot)
    refuse_unstated(correction.model_settings, split.test)
    notes = [*_left_out(every, recordings), *split.notes, *_doubts(split)]
    notes += missing_notes(robot.notes)
    facts = _facts(dataset, recordings, robot, how, split, notes)
    path = None if policy is None else recorded_path(policy, [*split.learn, *split.choose])
    facts["policy"] = path and {"name": path.policy.name, "fingerprint": path.fingerprint}
    with held(Path(out)):
        steps = Steps(Run.begin(Path(out), robot, facts, restart), robot, how, split, watch, path)
        run = steps.run
        run.record("check", lambda: check_dataset(every, robot).to_dict())
        run.stage("raw", steps.raw)
        identified = run.stage("identified", steps.identified)
        run.stage("corrected", lambda: steps.corrected(identified.kept))
        run.record("replays", steps.replayed)
        run.record("summary", lambda: summary(run.stages, steps.horizon))
        _publish(run)
    return run


def recorded_path(policy: Policy, takes: Sequence[Recording]) -> PathPrediction | RecordedWalks:
    """What a policy made of the robot, as simulators are judged by it."""
    walks = bool(policy.contract.commands)
    return RecordedWalks(policy, takes) if walks else PathPrediction(policy, takes)


def _left_out(every: list[Recording], used: list[Recording]) -> list[str]:
    """Which recordings are not used, and why."""
    known = {id(r) for r in used}
    why = [
        f"{r.name} ({', '.join(r.flags or ['no commands'])})" for r in every if id(r) not in known
    ]
    if not why:
        return []
    more = f" and {len(why) - NAMED} more" if len(why) > NAMED else ""
    return [f"left out: {', '.join(why[:NAMED])}{more}; gapless check says what is wrong with them"]


def _doubts(split: Split) -> list[str]:
    names = split.motions["test"]
    if len(names) != 1:
        return []
    return [
        f"only one held-out motion ({names[0]}): with another one (--test NAME) the figures may "
        "be quite different. Record more motions to be sure"
    ]


def summary(stages: Mapping[str, Stage], horizon: float) -> dict[str, Any]:
    """Error of each stage on the held-out motions, over all and by payload; what was kept."""
    rows = {
        name: {
            "error": stage.error(horizon),
            "payloads": stage.by("payload", horizon),
            "choose": None if stage.choose is None else stage.choose.to_dict(),
            "kept": stage.kept,
            "why": stage.why,
        }
        for name, stage in stages.items()
    }
    return {"horizon": horizon, "metric": METRIC, "unit": "rad", "rows": rows}


def _facts(
    dataset: Recordings,
    recordings: list[Recording],
    robot: Robot,
    how: CloseSettings,
    split: Split,
    notes: list[str],
) -> dict[str, Any]:
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
            "settings": asdict(how),
            "split": split.to_dict(),
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
    for left in run.path.glob(".*.progress"):  # nothing is left to resume
        shutil.rmtree(left) if left.is_dir() else left.unlink()
