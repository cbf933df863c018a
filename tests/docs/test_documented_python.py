"""The Python blocks of README and docs use what exists, and run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doc_inputs import Inputs, calibration
from doc_pages import Block, blocks
from doc_recordings import Place, recorded, small_robot

import gapless
from gapless.closing.close_settings import GENTLE, THOROUGH
from gapless.robots import names as built_in

BLOCKS = blocks("python")
QUICK = {"horizons": (0.3,), "iterations": 2, "samples": 200}
"""Settings of the training in `gapless.close`."""
OPENING = ("open", "load", "from_mjcf", "from_urdf")
FAST = ("docs/robots.md", "docs/motions.md")
NOT_RUN = {
    ("docs/identify.md", "level_feet"): "a G1 on a clamped foot; tests/identify makes these calls",
    ("docs/track.md", "gapless.finetune("): "minutes of training; tests/tracking makes these calls",
    ("docs/policies.md", "run.worlds()"): "closing a walk takes minutes; see tests/evaluation",
    ("docs/deploy.md", "SimulatedUnitree"): "it lives until it is told; see tests/deployment",
    ("docs/deploy.md", "recover_flight("): "needs a run that was killed; see tests/deployment",
    ("docs/export.md", "gapless.export("): "needs a finished run; tests/exports makes these calls",
    ("docs/scale.md", "gapless.close_fleet("): "tests/scale makes these calls",
    ("docs/correct.md", "gapless.correct("): "minutes of training; example 05 makes these calls",
}
"""Page and a text of a block that is not run -> why; those of README are all run."""


def _recordings(place: Place, inputs: Inputs) -> Any:
    return recorded(small_robot(place), ["a", "b", "c"])


GIVEN: dict[str, Callable[[Place, Inputs], Any]] = {
    "gapless": lambda place, inputs: gapless,
    "np": lambda place, inputs: np,
    "robot": lambda place, inputs: small_robot(place),
    "train": _recordings,
    "test": _recordings,
    "clip": lambda place, inputs: _recordings(place, inputs)[0],
    "calibration": lambda place, inputs: gapless.Calibration.load(inputs.made(calibration, place)),
    "targets": lambda place, inputs: np.tile(small_robot(place).joints.default, (256, 1)),
}
"""Names that a block takes for granted."""


def place_of(block: Block) -> str:
    """A name for the test."""
    return block.place


@pytest.mark.parametrize("block", BLOCKS, ids=place_of)
def test_names_exist(block: Block) -> None:
    """It compiles, and what it takes from gapless is there."""
    tree = ast.parse(block.text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            module = import_module(node.module)
            assert [n.name for n in node.names if not hasattr(module, n.name)] == []
        elif isinstance(node, ast.Import):
            [import_module(n.name) for n in node.names]
        elif isinstance(node, ast.Attribute):
            _resolve(ast.unparse(node))
    assert set(_free(tree)) <= {*GIVEN, *dir(builtins)}


def _resolve(text: str) -> None:
    """Find gapless.X.y as far as it is made of names."""
    first, *parts = text.split(".")
    found: Any = gapless
    for part in parts if first == "gapless" and text.replace(".", "").isidentifier() else []:
        found = getattr(found, part)


def _free(tree: ast.Module) -> list[str]:
    """Names that a block uses and does not make."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return [node.id for node in names if node.id not in _made(tree)]


def _made(tree: ast.Module) -> set[str]:
    """Names that a block gives a value."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            made |= {(n.asname or n.name).split(".")[0] for n in node.names}
    return made


def _read(tree: ast.Module) -> list[str]:
    """Names and files that a block opens or loads, and has not written itself."""
    written = [*_given_to(tree, "save"), *_given_to(tree, "close", at=2)]
    return [text for text in _given_to(tree, *OPENING) if text not in written]


def _given_to(tree: ast.Module, *methods: str, at: int = 0) -> list[str]:
    """Texts that are an argument of these methods."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and len(n.args) > at]
    named = [n for n in calls if isinstance(n.func, ast.Attribute) and n.func.attr in methods]
    values = [n.args[at].value for n in named if isinstance(n.args[at], ast.Constant)]
    return [value for value in values if isinstance(value, str)]


def _cases() -> list[object]:
    """Blocks to run, marked where they are slow."""
    chosen = [b for b in BLOCKS if not any(b.page == p and t in b.text for p, t in NOT_RUN)]
    slow = {True: [], False: [pytest.mark.slow]}
    return [pytest.param(b, marks=slow[b.page in FAST], id=b.place) for b in chosen]


@pytest.mark.parametrize("block", _cases())
def test_block_runs(
    block: Block, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it stands, in a folder with the files that it reads."""
    monkeypatch.chdir(tmp_path)
    tree = ast.parse(block.text)
    texts = _read(tree)
    robot = next((text for text in texts if text in built_in()), "so101")
    full = robot in texts and "lock" not in block.text
    place = Place(tmp_path, block.page, robot, full=full)
    for text in texts:
        if text not in built_in():
            inputs.give(text, place)
    for setting, value in QUICK.items():
        for usual in (GENTLE, THOROUGH):
            monkeypatch.setitem(usual, setting, value)
    names = {n: GIVEN[n](place, inputs) for n in _free(tree) if n in GIVEN}
    exec(compile(tree, block.place, "exec"), names)
    assert _made(tree) <= set(names)  # it ran to its end
