"""Long commands on tiny inputs: what is typed, and what of the result must be the same."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMED = {"time", "seconds", "elapsed", "minutes", "rate_of_samples", "samples_per_second"}
"""Keys of JSON that say how long something took, or when: these alone may differ."""
UNFINISHED = (".progress", ".flight", ".lock", ".log")
QUICK = 'trainer_settings={"horizons": [0.3], "iterations": 3, "samples": 100}'
MATRIX = """
robot = "go2"
worlds = ["mujoco"]
seeds = [0, 1, 2]
episodes = 1
out = "out"
[policies]
still = "still/policy.toml"
"""


@dataclass(frozen=True)
class Job:
    """A command.

    Attributes:
        name: of it.
        make: writes its inputs into a folder.
        words: what is typed there; its outputs are in `out`.
        call: what is done instead of a command line, where there is none.
        whole: opens what is in a folder that is not finished; raises where it is half written.
    """

    name: str
    make: Callable[[Path], object]
    words: tuple[str, ...] = ()
    call: Callable[[Path], int] | None = None
    whole: Callable[[Path], object] | None = None

    def run(self, folder: Path) -> int:
        """Do it, in this process, within its folder."""
        if self.call is not None:
            return self._called(folder)
        from gapless.cli.main import main

        return main(list(self.words))

    def _called(self, folder: Path) -> int:
        from gapless.errors import GaplessError

        assert self.call is not None
        try:
            return self.call(folder)
        except GaplessError as error:
            print(error)
            return 2


def digest(folder: Path) -> dict[str, str]:
    """File of the results -> hash of what it holds, times aside."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(_content(path)).hexdigest()[:16]
        for path in sorted((folder / "out").rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.suffix not in UNFINISHED
    }


def _content(path: Path) -> bytes:
    if path.suffix == ".html":  # the page says when the run began
        return re.sub(rb"\d{4}-\d\d-\d\dT[\d:+]+", b"", path.read_bytes())
    if path.suffix != ".json":
        return path.read_bytes()
    return json.dumps(_timeless(json.loads(path.read_text())), sort_keys=True).encode()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in TIMED}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def logs(folder: Path) -> None:
    """Motions of an arm as SAGE writes them."""
    import log_writers
    from fuzz.small_arm import JOINTS, MJCF, arm, wave

    (folder / "arm.xml").write_text(MJCF)
    for seed in range(12):
        _, q, target = wave(arm(), 400, seed)
        log_writers.write_sage(folder / "logs" / f"wave_{seed}", q, target, None, JOINTS)


def data(folder: Path) -> None:
    """Recordings of an arm whose motors are weak."""
    from dataclasses import replace

    from fuzz.small_arm import JOINTS, MJCF, arm
    from gapless.recordings import DatasetWriter
    from hidden_pair import recorded

    (folder / "arm.xml").write_text(MJCF)
    weak = arm().with_joints(kp=0.65 * arm().joints.kp)
    with DatasetWriter(folder / "data", "arm", JOINTS, 50.0) as writer:
        for clip in recorded(weak, list("abcde"), seconds=3.0):
            writer.append(replace(clip, channels={}))


def swings(folder: Path) -> None:
    """A pendulum and its motion."""
    from pendulum import pendulum
    from pendulum import swings as motion

    motion(0.5).save(folder / "swings.npz")
    pendulum(folder)


def matrix(folder: Path) -> None:
    """A policy that stands, in two worlds."""
    from still_policy import write_policy

    write_policy(folder / "still")
    (folder / "matrix.toml").write_text(MATRIX)


def fly(folder: Path) -> int:
    """Record 3000 control steps; what an earlier flight left is recovered first."""
    from gapless.deployment.flight_recorder import FlightRecorder, flight_folder
    from gapless.deployment.flight_recovery import recover_flight
    from gapless.deployment.robot_link import CHANNELS
    from gapless.errors import DataError, FormatError
    from gapless.recordings import Dataset
    from safe_arm import DT, NAMES, command, state

    out = folder / "out" / "data"
    shutil.rmtree(folder / "recovered", ignore_errors=True)
    left = flight_folder(out)
    if left.is_dir() and not out.exists():
        try:
            for clip in Dataset.open(recover_flight(left, folder / "recovered")):
                told = [round(50 * float(t)) for t in clip.target[:, 0]]  # type: ignore[index]
                assert told == list(range(told[0], told[0] + len(told))), "steps are missing"
        except (DataError, FormatError):  # killed before ten steps, or before the header
            shutil.rmtree(left)
    if not out.exists():
        with FlightRecorder(out, "arm", NAMES, 50, CHANNELS, "wave") as recorder:
            for k in range(3000):
                recorder.add(k, k * DT, state(k), command(k / 50))
                if k % 100 == 0:
                    recorder.flush()
    return 0


def open_dataset(folder: Path) -> None:
    """Every recording of a dataset that is there."""
    from gapless.recordings import Dataset

    for path in (folder / "out").glob("**/meta/info.json"):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            list(Dataset.open(path.parents[1]))


def open_json(folder: Path) -> None:
    """Every JSON file that is there."""
    for path in (folder / "out").rglob("*.json"):
        json.loads(path.read_text())


def open_run(folder: Path) -> None:
    """All stages that a run has."""
    from gapless.closing import Run

    if (folder / "out" / "run.json").exists():
        found = Run.open(folder / "out")
        found.stages, found.calibration, found.correction, found.replays  # noqa: B018


def open_policy(folder: Path) -> None:
    """A policy that is there."""
    from gapless.policies import Policy

    if (folder / "out" / "p").exists():
        Policy.load(folder / "out" / "p")


def open_correction(folder: Path) -> None:
    """A correction that is there."""
    from gapless.corrections import Correction

    if (folder / "out" / "cor").exists():
        Correction.load(folder / "out" / "cor")


SMALL = ("--robot", "arm.xml", "--mount", "fixed", "--physics-step", "0.005", "--keep-anyway")
TRAINER = ("--trainer-set", "iterations=3", "samples=100", "horizons=[0.3]", "--members", "1")
COLLECT = ("--robot", "so101", "--mount", "fixed", "--levels", "whole_body", "--seconds", "2")
EFFECTS = ("--only", "strength", "coulomb", "encoder_noise", "--units", "1", "--repeats", "3")
CLOSE = ("--set", 'parameters=["kp"]', "windows=4", "members=1", "physics_step=0.005", QUICK)
JOBS = {
    job.name: job
    for job in (
        Job(
            "import",
            logs,
            ("import", "sage", "logs", "--robot", "arm.xml", "--out", "out/data"),
            whole=open_dataset,
        ),
        Job(
            "collect",
            lambda folder: None,
            ("collect", *COLLECT, *EFFECTS, "--out", "out"),
            whole=open_dataset,
        ),
        Job(
            "identify",
            data,
            ("identify", "data", *SMALL, "--set", "kp", "--windows", "6", "--out", "out/cal.json"),
            whole=open_json,
        ),
        Job(
            "correct",
            data,
            ("correct", "data", *SMALL, *TRAINER, "--no-payload", "--out", "out/cor"),
            whole=open_correction,
        ),
        Job(
            "train",
            swings,
            (
                *("train", "swings.npz", "--robot", "pendulum.xml", "--out", "out/p"),
                *("--environments", "8", "--samples", "1600"),
            ),
            whole=open_policy,
        ),
        Job("evaluate", matrix, ("evaluate", "--matrix", "matrix.toml"), whole=open_json),
        Job(
            "close",
            data,
            ("close", "data", *SMALL[:4], "--out", "out", *CLOSE),
            whole=open_run,
        ),
        Job("recorder", lambda folder: None, call=fly, whole=open_dataset),
    )
}
