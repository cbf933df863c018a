"""Checkpoints: whole at every moment, and only for the question they were kept for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import ArtifactError, FormatError
from gapless.learning.checkpoint import Checkpoint, read_tensors, write_tensors

FIRST = {"w": np.arange(4.0)}


def test_what_is_kept_is_loaded(tmp_path: Path) -> None:
    """Arrays and facts; the file goes when it has served."""
    kept = Checkpoint(tmp_path / "c", {"seed": 1})
    assert kept.load() is None
    kept.keep({"w": np.zeros((2, 0)), "n": np.array(3)}, {"turn": 2})
    found = Checkpoint(tmp_path / "c", {"seed": 1}).load()
    assert found is not None
    assert found[0]["w"].shape == (2, 0)
    assert int(found[0]["n"]) == 3
    assert found[1] == {"turn": 2}
    kept.clear()
    assert not any(tmp_path.iterdir())


def test_nothing_is_kept_without_a_path() -> None:
    """Every call is allowed."""
    kept = Checkpoint(None)
    kept.keep(FIRST, {})
    assert kept.load() is None
    kept.clear()


def test_another_question_is_refused_with_the_difference(tmp_path: Path) -> None:
    """Unless it is asked to start over."""
    Checkpoint(tmp_path / "c", {"seed": 1, "data": "a"}).keep(FIRST, {})
    other = {"seed": 2, "data": "a"}
    with pytest.raises(ArtifactError, match=r"seed was 1, now 2.*--restart"):
        Checkpoint(tmp_path / "c", other).load()
    assert Checkpoint(tmp_path / "c", other, restart=True).load() is None


def test_a_question_with_tuples_is_the_same_after_a_stop(tmp_path: Path) -> None:
    """JSON has no tuples; the same settings must still be the same."""
    question = {"choices": {"horizons": (0.3, 1.0), "joints": ("all",)}}
    Checkpoint(tmp_path / "c", question).keep(FIRST, {})
    assert Checkpoint(tmp_path / "c", question).load() is not None


def test_a_write_that_fails_leaves_the_previous_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk says so."""
    kept = Checkpoint(tmp_path / "c")
    kept.keep(FIRST, {"turn": 1})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ArtifactError, match="disk is full"):
        kept.keep({"w": np.ones(4)}, {"turn": 2})
    found = kept.load()
    assert found is not None and found[1]["turn"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from gapless import artifact
from gapless.learning.checkpoint import Checkpoint
kept = Checkpoint(Path(sys.argv[1]))
kept.keep({"w": np.zeros(1000)}, {"turn": 1})
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(artifact.os, sys.argv[2], die)
kept.keep({"w": np.ones(1000)}, {"turn": 2})
"""


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_kill_during_a_write_leaves_the_previous_one(tmp_path: Path, moment: str) -> None:
    """SIGKILL while the bytes are written, and just before they are published."""
    path = tmp_path / "c"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), moment], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    if moment == "fsync":
        assert path.exists() is True
    found = Checkpoint(path).load()
    assert found is not None
    assert found[1]["turn"] == 1
    np.testing.assert_array_equal(found[0]["w"], 0.0)


def test_a_damaged_checkpoint_is_a_fresh_start_or_refused(tmp_path: Path) -> None:
    """Hours of work are not forgotten without a word; and never code that runs."""
    write_tensors(tmp_path / "c", FIRST, {"turn": 1})
    whole = (tmp_path / "c").read_bytes()
    for damaged in (whole[:-3], b"", b"\x80\x04\x95", whole[:20]):
        (tmp_path / "c").write_bytes(damaged)
        assert Checkpoint(tmp_path / "c").load() is None
        with pytest.raises(FormatError, match="damaged"):
            read_tensors(tmp_path / "c")
        with pytest.raises(FormatError, match=r"damaged.*restore the file.*--restart"):
            Checkpoint(tmp_path / "c", precious=True).load()
        assert (tmp_path / "c").read_bytes() == damaged
    assert Checkpoint(tmp_path / "c", restart=True, precious=True).load() is None
