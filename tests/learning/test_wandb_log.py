"""Figures in Weights & Biases, offline."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gapless.errors import MissingExtraError
from gapless.learning.wandb_log import both, wandb_logged
from gapless.progress import Progress


def test_figures_are_kept_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves the machine; what was told is in the run's file."""
    pytest.importorskip("wandb", reason="wandb is not installed: pip install 'gapless[wandb]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    with wandb_logged("gaps", tmp_path / "policy", {"seed": 3}) as watch:
        watch(Progress("", 1, 2, {"reward": 0.25}))
    (folder,) = (tmp_path / "wandb").glob("offline-run-*")
    (file,) = folder.glob("*.wandb")
    text = file.read_bytes()
    assert b"reward" in text and b"policy" in text and b"seed" in text


def test_without_a_project_nothing_is_logged(tmp_path: Path) -> None:
    """And wandb need not be there."""
    with wandb_logged(None, tmp_path / "policy", {}) as watch:
        watch(Progress("", 1, 2, {"reward": 0.25}))
    assert not list(tmp_path.iterdir())


def test_without_wandb_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the training begins."""
    monkeypatch.setitem(sys.modules, "wandb", None)
    with (
        pytest.raises(MissingExtraError, match=r"gapless\[wandb\]"),
        wandb_logged("gaps", tmp_path / "policy", {}),
    ):
        pytest.fail("nothing may be trained")


def test_two_watches_are_told_the_same() -> None:
    """In order."""
    told: list[str] = []
    both(lambda now: told.append(now.stage), lambda now: told.append(now.stage + "!"))(
        Progress("fit")
    )
    assert told == ["fit", "fit!"]
