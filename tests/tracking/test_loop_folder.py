"""What a finished loop left: the answer, episodes on one clock; what is not whole says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from closed_arm import HOSTILE, closed_arm
from finished_loop import FELL, LENGTH, finished_loop
from gapless.artifact import read_json, write_json
from gapless.closing import Run
from gapless.errors import ArtifactError, FormatError
from gapless.measurement.side_by_side import load_side_by_side, save_side_by_side
from gapless.tracking.loop_folder import SUMMARY, LoopFolder, load_episode


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A small one."""
    return closed_arm(tmp_path_factory.mktemp("closed"))


@pytest.fixture
def loop(run: Run, tmp_path: Path) -> LoopFolder:
    """Of one round."""
    return finished_loop(tmp_path / "loop", run)


def test_the_answer_is_a_line(loop: LoopFolder) -> None:
    """From the first policy to the last; what says nothing is a dash."""
    told = f"E_g-mpjpe 200 -> 100 mm on {HOSTILE}, success 75 -> 100 %"
    assert loop.answer == f"Fine-tuned policy: {told}"
    assert loop.policies["policy_0"]["e_acc"] is None


@pytest.mark.parametrize(
    ("count", "names"),
    [(1, ["before"]), (2, ["before", "after"]), (4, ["before", "round 1", "round 2", "after"])],
)
def test_policies_are_called_by_their_round(
    run: Run, tmp_path: Path, count: int, names: list[str]
) -> None:
    """However many there are; a loop of none has no robot to show."""
    found = finished_loop(tmp_path / "loop", run, count)
    assert list(found.called.values()) == names and len(found.runs) == count - 1
    if count == 1:
        assert found.answer.startswith("Policy, not tuned: E_g-mpjpe 200 mm")
        with pytest.raises(ArtifactError, match="no robot"):
            _ = found.robot


def test_episodes_are_on_one_clock(loop: LoopFolder) -> None:
    """The longest; after a fall there is nothing, and the commands are the last policy's."""
    clip = loop.side_by_side()
    assert list(clip.tracks) == ["reference", "before", "after"] and len(clip.target) == LENGTH
    before, after = clip.tracks["before"], clip.tracks["after"]
    assert np.isfinite(before.q[:FELL]).all() and np.isnan(before.q[FELL:]).all()
    assert before.distance is not None and np.isnan(before.distance[FELL:]).all()
    assert np.isfinite(after.q).all() and np.isfinite(clip.target).all()
    assert clip.mean_error("after", "reference") == pytest.approx(0.1, abs=1e-6)


def test_a_loop_that_is_not_finished_is_refused(loop: LoopFolder) -> None:
    """With what to type, and what can be looked at meanwhile."""
    (loop.path / SUMMARY).unlink()
    with pytest.raises(ArtifactError, match=r"not finished.*gapless loop.*gapless report .*run_1"):
        LoopFolder.open(loop.path)
    shutil.rmtree(loop.path / "run_1")
    with pytest.raises(ArtifactError, match=r"command resumes it$"):
        LoopFolder.open(loop.path)
    with pytest.raises(ArtifactError, match="is no loop"):
        LoopFolder.open(loop.path / "run_2")


@pytest.mark.parametrize("broken", ["policies", "motion", "scores", "text", "list"])
def test_a_damaged_summary_is_named(loop: LoopFolder, broken: str) -> None:
    """It is not shown as if it were whole."""
    told = read_json(loop.path / SUMMARY)
    wrong = {
        "policies": told | {"policies": {}},
        "motion": {k: v for k, v in told.items() if k != "motion"},
        "scores": told | {"policies": {"policy_0": {"survival": 1.0}}},
        "text": told | {"policies": {"policy_0": dict.fromkeys(told["policies"]["policy_0"], "x")}},
        "list": [told],
    }
    write_json(loop.path / SUMMARY, wrong[broken])
    with pytest.raises(FormatError, match="no summary of a loop"):
        LoopFolder.open(loop.path)


def test_episodes_that_are_not_there_or_something_else(loop: LoopFolder) -> None:
    """The message says what makes them anew; a pickle is never opened."""
    file = loop.path / "policy_0.npz"
    save_side_by_side(file, load_side_by_side(loop.path / "policy_1.npz") * 2)
    with pytest.raises(FormatError, match="no episode of a policy"):
        load_episode(loop.path, "policy_0")
    np.savez(file, head=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FormatError, match="cannot be read"):
        load_episode(loop.path, "policy_0")
    file.unlink()
    with pytest.raises(ArtifactError, match="gapless loop command plays"):
        loop.side_by_side()
