"""How the commands of the pages are parsed, and made small enough to be run by a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import tyro
from doc_inputs import Inputs
from doc_pages import Command
from doc_recordings import Place

from gapless.cli.main import main
from gapless.robots import names as built_in

PLACEHOLDERS = {
    "FORMAT": "sage",
    "LOGS": "logs/",
    "SOURCE": "logs/",
    "R": "so101",
    "ROBOT": "so101",
    "NAME": "chirp",
    "FILE": "motion.npz",
    "DIR": "DATA",
}
"""Words that stand for what a reader puts there."""

OUTPUTS = (
    "out",
    "record",
    "json",
    "plots",
    "plot",
    "mjcf",
    "onnx",
    "log",
    "dump",
    "truth",
    "html",
    "rerun",
)
"""Fields of commands that are written; other paths are read."""

TINY = ["horizons=[0.3]", "iterations=2", "samples=100"]
SMALL: dict[str, list[str]] = {
    "robots": [],
    "check": [],
    "import": [],
    "motion": [],
    "measure": ["--windows", "2", "--horizons", "0.5", "--physics-step", "0.005"],
    "identify": ["--windows", "6", "--physics-step", "0.005", "--keep-anyway"],
    "correct": [
        *("--trainer-set", *TINY, "--members", "1", "--keep-anyway"),
        *("--physics-step", "0.005"),
    ],
    "compare": [
        *("--seeds", "1", "--budget", "1", "--windows", "1", "--physics-step", "0.005"),
        *("--set", "identify.windows=4", "ours.members=1", "asap-sysid.windows=2"),
        *(f"ours.trainer_settings.{setting}" for setting in TINY),
        *("asap.trainer_settings.environments=8", "gaponet.trainer_settings.environments=8"),
        "delta-dynamics.trainer_settings.iterations=5",
    ],
    "close": [
        *("--set", 'parameters=["kp"]', "windows=6", "members=1", "physics_step=0.005"),
        'trainer_settings={"horizons": [0.3], "iterations": 2, "samples": 100}',
    ],
    "collect": [
        *("--hours", "0.003", "--rates", "50", "--seconds", "3", "--units", "1"),
        *("--repeats", "1"),
    ],
    "report": [],
    "export": [],
    "policy": ["--no-simulation"],
    "evaluate": ["--episodes", "2", "--seconds", "2.5"],
    "train": ["--samples", "400", "--environments", "8"],
    "deploy": ["--plan", "stand 0.2, walk 0.4, lower, walk 0.6, damp 0.2"],
}
SMALL["demo"] = ["--hours", "0.01", *SMALL["close"]]
"""Verb -> options that make it small; a verb that is not here cannot be run and must be placed."""

SETTINGS = ("--set", "--trainer-set", "--model-set")
"""Options of KEY=VALUE; a second one would replace the first."""

SMALLER = {"upper_body": ["--count", "2"], "waypoints": ["--seconds", "4"]}
"""Motion -> options that make it small."""

SLOW = (
    *("identify", "correct", "compare", "close", "collect", "demo", "report", "train", "export"),
    "deploy",
)
"""Verbs that take more than a second or two."""
SLOW_INPUTS = ("--correction", "data/simlifter", "evaluate kick")
"""What takes long to make."""

ONLY_PARSED = {
    "gapless import kscale kbot_leg": "ktune's logs of a real leg",
    "gapless import kscale kbot_walk": "logs of a real policy",
    "gapless import walk_these_ways go2": "logs of a real quadruped",
    "gapless motion optimal": "a minute of optimisation; tests/motions/test_optimal.py runs it",
    "gapless evaluate walk.onnx --run": "closing a walk takes minutes; see tests/evaluation",
    "gapless import generic logs/ --mapping mapping.toml --robot my_robot.xml": "a humanoid's "
    "own files; tests/recordings/test_servo_biped.py",
    "gapless close data/standing": "a floor takes minutes; tests/recovery/test_standing_biped.py",
    "gapless close data/ --robot g1_23dof --policy": "the same; tests/cli/test_close_command.py",
    "gapless close data/walks": "closing a walk takes minutes; see tests/evaluation",
    "gapless train squat_level1": "the motion is ASAP's; the same command runs on another",
    "gapless evaluate squat": "the policy is made by that command",
    "gapless imitate": "its teachers are trackers of three motions; tests/imitation runs it",
    "gapless policy show student": "made by that command",
    "gapless evaluate student": "the same",
    "gapless evaluate kick --run run --correction-use": "closing a robot on its feet takes "
    "minutes; tests/cli/test_correction_use.py runs it",
    "gapless finetune": "closing a robot on its feet takes minutes; tests/tracking tunes",
    "gapless identify clamped": "a G1 with a clamped foot takes minutes; "
    "tests/recovery/test_load_recovery.py has a small robot",
    "gapless evaluate carrying": "made by that command",
    "gapless train walk.npz --robot g1_23dof --calibration": "the same",
    "gapless loop": "the same; tests/tracking/test_policy_loop.py runs a small one",
    "gapless retarget": "the file is a person's; tests/motions/retargeting runs it",
    "gapless motion check dance.npz": "made by that command; tests/cli/test_retarget_command.py",
    "gapless export RUN --to urdf": "its robot is no URDF's; tests/exports/test_urdf_folder.py",
    "gapless export RUN --to mjlab --out kick_mjlab": "closing a robot on its feet takes minutes; "
    "tests/in_mjlab",
    "gapless import mcap replays": "written by that command; tests/exports/test_mcap_replays.py",
    "gapless evaluate --matrix": "a cluster; tests/scale/test_ray.py runs it",
    "gapless deploy --simulate": "lives until it is stopped; tests/deployment runs one",
    "gapless deploy walk.onnx kick.toml": "needs a robot; tests/deployment/test_unitree_flight.py",
    "gapless deploy walk.onnx --robot g1 --link unitree": "the same",
    "gapless deploy walk.onnx --weighed": "needs both recordings; "
    "tests/deployment/test_adaptive_flight.py",
    "gapless view": "serves until it is stopped; tests/browser opens it",
}
"""Beginning of a command that is not run -> why."""

STANDALONE = ("robots", "motion", "demo")
"""Verbs that are commands without anything behind them."""


class Parsed(BaseException):
    """Stops a command, or a script, when its arguments are understood."""

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments


def stop_when_parsed(patch: pytest.MonkeyPatch) -> None:
    """Every command raises `Parsed` instead of starting its work."""
    real: Callable[..., Any] = tyro.cli

    def cli(*args: Any, **kwargs: Any) -> None:
        raise Parsed(real(*args, **kwargs))

    patch.setattr(tyro, "cli", cli)


def parsed(words: list[str]) -> Any:
    """What the command's own parser makes of a line; the test fails where it refuses it."""
    with pytest.MonkeyPatch.context() as patch:
        stop_when_parsed(patch)
        try:
            code = main(words)
        except Parsed as stop:
            return stop.arguments
        except SystemExit as refusal:
            code = refusal.code
    return pytest.fail(f"gapless {' '.join(words)} is not understood (exit code {code})")


def filled_in(command: Command) -> list[str]:
    """The words behind `gapless`, with what a sentence leaves out or stands for something."""
    words = [PLACEHOLDERS.get(w, w) for w in (word.split("|")[0] for word in command.words[1:])]
    needs_out = words[0] in ("identify", "correct", "collect", "import", "close")
    if command.inline and needs_out and "--out" not in words:
        words += ["--out", "OUT"]
    return words


def why_not_run(command: Command) -> str | None:
    """Why a command is only parsed; None where it is run."""
    text = str(command)
    if command.elided:
        return "something is left to the reader"
    if command.mention and command.words[1] not in STANDALONE:
        return "a sentence speaks of it"
    return next((why for start, why in ONLY_PARSED.items() if text.startswith(start)), None)


def slow(command: Command) -> bool:
    """It belongs to the slow tests."""
    text = str(command)
    return command.words[1] in SLOW or any(word in text for word in SLOW_INPUTS)


def shrunk(words: list[str]) -> list[str]:
    """The same command, small: later options win, settings are added to those it has."""
    small = [*words]
    for option, *values in _options([*SMALL[words[0]], *SMALLER.get(" ".join(words[1:2]), [])]):
        if option in SETTINGS and option in small:
            at = small.index(option) + 1
            end = next((i for i in range(at, len(small)) if small[i][:2] == "--"), len(small))
            small[end:end] = values
        else:
            small += [option, *values]
    return small


def _options(words: list[str]) -> list[list[str]]:
    """Each option with its values."""
    found: list[list[str]] = []
    for word in words:
        if word.startswith("--"):
            found.append([word])
        else:
            found[-1].append(word)
    return found


def robot_of(words: list[str], asked: str | None) -> str:
    """The robot that a command is about, by its option or by the names of its files."""
    if asked is not None:
        return asked
    text = " ".join(words).replace("kbot_walk", "kbot_legs")
    return next((n for n in sorted(built_in(), key=len, reverse=True) if n in text), "so101")


def prepare(command: Command, words: list[str], inputs: Inputs, folder: Path) -> None:
    """Put everything in the folder that the command reads."""
    arguments = parsed(words)
    asked = getattr(arguments, "robot", None)
    named = getattr(arguments, "name", None)
    calibrated = getattr(arguments, "calibration", None) is not None
    place = Place(
        folder,
        command.page,
        robot_of(words, asked),
        format=getattr(arguments, "format", "sage"),
        calibrated=calibrated,
    )
    for robot in (asked, named):
        if robot and Path(robot).suffix:
            inputs.give(robot, place)
    for path in _read_by(arguments):
        inputs.give(str(path), place)


def _read_by(arguments: Any) -> list[Path]:
    """Paths that a command reads."""
    found: list[Path] = []
    for name in (f.name for f in fields(arguments) if f.name not in OUTPUTS):
        value = getattr(arguments, name)
        if name == "options":
            found += _read_by(value)
        values = value if isinstance(value, tuple) else [value]
        found += [path for path in values if isinstance(path, Path)]
    return found
