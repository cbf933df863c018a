"""What gapless itself wrote, edited by others: calibrations, corrections, runs, flights, limits."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from fuzz.model_readers import moved
from fuzz.reader import Reader
from fuzz.small_arm import RATE, arm, clip
from gapless.worlds import MujocoWorld


def calibration(folder: Path) -> None:
    """Gains, friction and a delay, with a loaded one and a fold."""
    from gapless.identification.calibration import Calibration
    from gapless.identification.estimate import Estimate, nominal_figures
    from gapless.parameters import parameters_of
    from gapless.verdict import Verdict
    from gapless.worlds import Effects

    wanted = parameters_of(arm(), ["kp", "frictionloss", "delay@all"])
    own = nominal_figures(arm(), Effects(), wanted)
    found = tuple(
        Estimate(p, p.prior, 0.01, True, False, n) for p, n in zip(wanted, own, strict=True)
    )
    verdict = Verdict(before=0.02, after=0.01, horizon=1.0, motions=("wave",))
    made = Calibration(arm().name, found, np.eye(len(found)), verdict, verdict, {"hip": 1.0})
    replace(made, loaded=made, folds=(made,)).save(folder / "cal.json")


def use_calibration(source: Path, out: Path) -> None:
    """Apply it, simulate, print it, and count recordings as it does."""
    from gapless.identification import Calibration

    found = Calibration.load(source / "cal.json")
    robot, _ = found.apply(arm())
    moved(robot)
    found.recordings([clip()])
    str(found)
    found.save(out / "again.json")


def correction(folder: Path) -> None:
    """One with random weights."""
    from gapless.corrections.training.task import Task
    from gapless.corrections.training.untrained import contract_for, untrained
    from soft_pair import shaken

    world = MujocoWorld(arm(), RATE, physics_step=0.005)
    task = Task(world, [clip("a"), clip("b", 1)], [clip("c", 2)])
    contract = contract_for(world, RATE, model="mlp", settings={}, bound=0.05)
    shaken(untrained(contract, task, 0)).save(folder / "cor")


def use_correction(source: Path, out: Path) -> None:
    """In a world, for a few steps."""
    from gapless.corrections import CorrectedWorld, Correction

    found = Correction.load(source / "cor")
    raw = MujocoWorld(arm(), RATE, physics_step=0.005, threads=1)
    world = CorrectedWorld(raw, None, [found])
    world.rollout(world.home(), np.zeros((1, 4, 2)))
    str(found)


@cache
def _closed() -> Path:
    """A run, closed once for all readers of it; the folder goes with the process."""
    import atexit
    import tempfile

    from gapless.closing import CloseSettings, close

    quick = {"horizons": (0.3,), "iterations": 1, "samples": 20}
    settings = CloseSettings(
        ("kp",), windows=2, members=1, physics_step=0.005, trainer_settings=quick
    )
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    clips = [clip(name, seed) for seed, name in enumerate("abcde")]
    close(clips, arm(), folder / "run", settings=settings)
    return folder / "run"


def run(folder: Path) -> None:
    """A finished run."""
    shutil.copytree(_closed(), folder / "run")


def use_run(source: Path, out: Path) -> None:
    """Everything a run shows, its page, and its simulator for a few steps."""
    from gapless.closing import Run

    found = Run.open(source / "run")
    found.stages, found.taught, found.replays, str(found)
    world = found.world()
    world.rollout(world.home(), np.zeros((1, 3, len(world.robot.joints))))


def page(source: Path, out: Path) -> None:
    """The page of a run."""
    from gapless.closing import Run
    from gapless.reports import report

    report(Run.open(source / "run"), out / "page.html")


def loop(folder: Path) -> None:
    """The folder of a policy loop."""
    from finished_loop import finished_loop
    from gapless.closing import Run

    finished_loop(folder / "loop", Run.open(_closed()))


def use_loop(source: Path, out: Path) -> None:
    """All that its page takes from it."""
    from gapless.tracking.loop_folder import LoopFolder

    found = LoopFolder.open(source / "loop")
    found.answer, found.called, found.runs, found.robot, found.motion  # noqa: B018
    for policy in found.policies:
        str(found.evaluation(policy))
    found.side_by_side()


def evaluation(folder: Path) -> None:
    """Scores of a policy."""
    from finished_loop import evaluation as scores

    scores(100.0, True).save(folder / "a.json")


def use_evaluation(source: Path, out: Path) -> None:
    """Read, printed and written again."""
    from gapless.evaluation import Evaluation

    found = Evaluation.load(source / "a.json")
    str(found)
    found.save(out / "again.json")


MATRIX = """
robot = "go2"
worlds = ["mujoco", "mujoco:mild"]
seeds = [0, 1]
episodes = 4
push = 0.5
out = "cells"
[policies]
one = "still/{seed}"
two = "other"
"""


def matrix(folder: Path) -> None:
    """Policies by worlds by seeds, one cell made."""
    (folder / "matrix.toml").write_text(MATRIX)
    evaluation(folder)
    (folder / "cells").mkdir()
    (folder / "a.json").rename(folder / "cells" / "one__mujoco__0.json")


def use_matrix(source: Path, out: Path) -> None:
    """Its cells and its table."""
    from gapless.evaluation.evaluation_matrix import EvaluationMatrix

    found = EvaluationMatrix.read(source / "matrix.toml")
    list(zip(found.cells(), range(100), strict=False))


def flight(folder: Path) -> None:
    """A run that was cut off."""
    from gapless.deployment.flight_recorder import FlightRecorder
    from gapless.deployment.robot_link import CHANNELS
    from safe_arm import DT, NAMES, command, state

    recorder = FlightRecorder(folder / "data", "arm", NAMES, 50, CHANNELS, "wave").__enter__()
    for k in range(40):
        recorder.add(k, k * DT, state(k, q=np.full(2, k / 100)), command(k / 50))
    recorder.flush()
    recorder._writer.close()


def use_flight(source: Path, out: Path) -> None:
    """Recovered; what it becomes is read."""
    from gapless.deployment.flight_recovery import recover_flight
    from gapless.recordings import Dataset

    shutil.copytree(source / "data.flight", out / "data.flight")
    list(Dataset.open(recover_flight(out / "data.flight", out / "data")))


def safety(folder: Path) -> None:
    """Limits as a person signs them."""
    from gapless.deployment.safety_file import write_safety
    from safe_arm import limits

    write_safety(folder / "safety.toml", limits(signed_by="me"))


def use_safety(source: Path, out: Path) -> None:
    """Read, and a step filtered through them."""
    from gapless.deployment.safety_file import read_safety
    from gapless.deployment.safety_filter import SafetyFilter
    from safe_arm import DT, NAMES, command, state

    found = read_safety(source / "safety.toml")
    if found.joints.names == NAMES:  # others are refused when a link is opened
        SafetyFilter(found, NAMES).step(state(1), command(0.1), DT)


READERS = (
    Reader("calibration", calibration, use_calibration),
    Reader("correction", correction, use_correction, slow=True),
    Reader("run", run, use_run, slow=True),
    Reader("page of a run", run, page, ("run/*.json", "run/*.npz"), slow=True),
    Reader("loop", loop, use_loop, ("loop/*",), slow=True),
    Reader("evaluation", evaluation, use_evaluation),
    Reader("matrix", matrix, use_matrix, ("*.toml",)),
    Reader("flight", flight, use_flight),
    Reader("safety.toml", safety, use_safety),
)
