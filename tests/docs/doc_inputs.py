"""Inputs of the commands of the pages: each is made once, small, and handed out as a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from doc_recordings import (
    STEP,
    Place,
    asap_motion,
    csv_log,
    dataset,
    logs,
    mapping,
    mjcf,
    robot_file,
    robot_source,
)

from finished_loop import finished_loop
from gapless.cli.main import main
from gapless.closing import Run
from still_policy import write_policy

Maker = Callable[["Inputs", Place, Path], None]


def collection(inputs: Inputs, place: Place, path: Path) -> None:
    """A small collection of the preset."""
    small = ["--hours", "0.003", "--rates", "50", "--seconds", "3", "--units", "1", "--repeats"]
    assert main(["collect", "--preset", "simlifter", *small, "1", "--out", str(path)]) == 0


def calibration(inputs: Inputs, place: Place, path: Path) -> None:
    """Gains, from a few windows."""
    data = inputs.made(dataset, place)
    small = ["--set", "kp", "--windows", "4", "--physics-step", str(STEP), "--keep-anyway"]
    assert main(["identify", str(data), *_robot(place), *small, "--out", str(path)]) == 0


def correction(inputs: Inputs, place: Place, path: Path) -> None:
    """An operator, trained a little."""
    data = inputs.made(dataset, place)
    small = ["--trainer-set", "iterations=2", "samples=100", "horizons=[0.3]", "--keep-anyway"]
    told = ["--members", "1", "--no-payload", "--physics-step", str(STEP), "--out", str(path)]
    if place.calibrated:
        told += ["--calibration", str(inputs.made(calibration, place))]
    assert main(["correct", str(data), *_robot(place), *small, *told]) == 0


def run(inputs: Inputs, place: Place, path: Path) -> None:
    """The folder of a `gapless close`."""
    data = inputs.made(dataset, place)
    small = ["--set", 'parameters=["kp"]', "windows=4", "members=1", f"physics_step={STEP}"]
    quick = 'trainer_settings={"horizons": [0.3], "iterations": 2, "samples": 100}'
    assert main(["close", str(data), *_robot(place), "--out", str(path), *small, quick]) == 0


def policy(inputs: Inputs, place: Place, path: Path) -> None:
    """A policy that holds its stance; its contract lies beside it."""
    file = write_policy(
        path.parent / "policy", robot=place.robot if place.robot != "so101" else "g1"
    )
    file.with_name("policy.onnx").rename(path)
    text = file.read_text().replace("policy.onnx", "walk.onnx" if path.suffix else path.name)
    path.with_name("walk.toml").write_text(text)
    shutil.rmtree(file.parent)


def tracker(inputs: Inputs, place: Place, path: Path) -> None:
    """A tracker of a G1, hardly trained."""
    motion = inputs.made(asap_motion, place, ".pkl")
    small = ["--samples", "200", "--environments", "4", "--out", str(path)]
    assert main(["train", str(motion), "--robot", "g1_23dof", *small]) == 0


def policy_loop(inputs: Inputs, place: Place, path: Path) -> None:
    """The folder of a finished `gapless loop`."""
    finished_loop(path, Run.open(inputs.made(run, place)))


def walks(inputs: Inputs, place: Place, path: Path) -> None:
    """Recordings of a hidden robot under that policy."""
    file = write_policy(path.parent / "of", robot="g1")
    small = ["--world", "mujoco:mild", "--episodes", "2", "--seconds", "2.5", "--record", str(path)]
    assert main(["evaluate", str(file), *small]) == 0
    shutil.rmtree(file.parent)


def _robot(place: Place) -> list[str]:
    return ["--robot", str(robot_source(place)), "--mount", "fixed"]


MAKERS: dict[str, Maker] = {
    "*.xml": mjcf,
    "my_robot.toml": robot_file,
    "data/simlifter": collection,
    "data": dataset,
    "DATA": dataset,
    "data/*": dataset,
    "out/*/fit/50hz": dataset,
    "logs": logs,
    "so101": logs,
    "h1_2/origin": logs,
    "walk.onnx": policy,
    "walks": walks,
    "*.csv": csv_log,
    "mapping.toml": mapping,
    "kick.pkl": asap_motion,
    "kick": tracker,
    "kick2": tracker,
    "loop": policy_loop,
    "*.json": calibration,
    "COR": correction,
    "cor": correction,
    "RUN": run,
    "run": run,
    "runs/*": run,
    "out/run*": run,
}
"""Pattern of a path in the pages -> how it is made; the first that matches counts."""

OF_A_PAGE = (mjcf, robot_file, mapping, csv_log, logs)
"""Inputs that are written as a page shows them."""


class Inputs:
    """Makes each input once, and hands out copies."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept

    def give(self, path: str, place: Place) -> None:
        """Put an input where a command looks for it, and what lies beside it."""
        name = path.rstrip("/")
        if name.startswith("data/simlifter/"):
            name = "data/simlifter"
        maker = next((maker for p, maker in MAKERS.items() if fnmatchcase(name, p)), None)
        if maker is None:
            pytest.fail(f"say in tests/docs/doc_inputs.py how the {path!r} of {place.page} is made")
        made = self.made(maker, place, Path(name).suffix)
        to = place.folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        for other in made.parent.iterdir():
            _copy(other, to if other == made else to.parent / other.name)

    def made(self, maker: Maker, place: Place, suffix: str = "") -> Path:
        """The kept input of a maker, alone in its folder but for files that it refers to."""
        page = Path(place.page).stem if maker in OF_A_PAGE or Path(place.robot).suffix else ""
        about = f"{place.robot}-{place.full:d}{place.calibrated:d}-{place.format}-{page}"
        path = self._kept / about / maker.__name__ / f"made{suffix}"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            maker(self, place, path)
        return path


def _copy(kept: Path, to: Path) -> None:
    if kept.is_dir():
        shutil.copytree(kept, to, dirs_exist_ok=True)
    else:
        shutil.copy(kept, to)
