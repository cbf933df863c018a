"""close(): the loop on a two-joint arm whose truth is known, and what it does with bad input."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gapless
from closed_arm import QUICK, closed_arm
from gapless.closing import CloseSettings, Run, close
from gapless.errors import ArtifactError, DataError, FormatError, NameMismatchError
from gapless.recordings import Recording
from gapless.robots import Robot
from gapless.verdict import Verdict
from hidden_pair import recorded


def test_the_gap_is_closed_on_motions_that_taught_nothing(run: Run) -> None:
    """The known gain explains it, and the summary says so."""
    rows = run.summary["rows"]
    assert rows["identified"]["kept"] and rows["identified"]["error"] < 0.1 * rows["raw"]["error"]
    assert run.calibration is not None
    assert run.calibration.values["kp/elbow_flex"] == pytest.approx(
        0.65 * run.robot.joints.kp[1], rel=0.03
    )
    parts = [set(run.facts["split"][part]) for part in ("learn", "choose", "test")]
    assert [len(part) for part in parts] == [3, 1, 1] and len(set.union(*parts)) == 5
    chosen = rows["corrected"]["choose"]
    helped = chosen["after"] < chosen["before"]
    assert rows["corrected"]["kept"] is helped and (run.correction is not None) is helped


def test_the_run_loads_as_a_world(run: Run) -> None:
    """By the program in its folder too; MJCF and ranges are there."""
    made = runpy.run_path(str(run.path / "use.py"))
    assert made["joints"] == ("shoulder_lift", "elbow_flex")
    assert np.isfinite(made["state"].q).all() and len(made["state"]) == 4
    ranges = json.loads((run.path / "ranges.json").read_text())
    low, high = ranges["kp/elbow_flex"]
    assert low < 0.65 * run.robot.joints.kp[1] < high
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(run.path / "robot.xml"))
    assert model.nu == 2


def test_a_finished_run_is_not_done_again(
    run: Run, pair: Robot, waves: list[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same call reads it; another question is refused."""
    monkeypatch.setattr("gapless.closing.steps.identify", None)
    monkeypatch.setattr("gapless.closing.steps.correct", None)
    again = close(waves, pair, run.path, settings=QUICK)
    assert again.summary == run.summary
    with pytest.raises(ArtifactError, match=r"settings.*differ.*--restart"):
        close(waves, pair, run.path, settings=replace(QUICK, seed=5))


def test_a_stopped_run_goes_on(
    pair: Robot, waves: list[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was identified before the stop is not identified again."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("gapless.closing.steps.correct", stop)
        with pytest.raises(KeyboardInterrupt):
            close(waves, pair, tmp_path / "run", settings=QUICK)
    half = Run.open(tmp_path / "run")
    assert half.stages["identified"].kept and not half.summary
    assert half.calibration is not None and half.correction is None
    monkeypatch.setattr("gapless.closing.steps.identify", None)
    assert close(waves, pair, tmp_path / "run", settings=QUICK).summary["rows"]


def test_steps_that_do_not_help_are_not_kept(
    pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """A simulator that is right already stays as it is."""
    right = recorded(pair, ["a", "b", "c"], noise=0.0)
    found = close(right, pair, tmp_path / "run", settings=QUICK)
    rows = found.summary["rows"]
    assert found.facts["split"]["choosing"] == "cross-validation"
    assert rows["raw"]["error"] < 1e-3
    for name in ("identified", "corrected"):
        verdict = Verdict.from_dict(rows[name]["choose"])
        assert verdict is not None and rows[name]["kept"] is verdict.improved
        assert bool(rows[name]["why"]) is not rows[name]["kept"]


def test_one_motion_is_cut_into_pieces(pair: Robot, waves: list[Recording], tmp_path: Path) -> None:
    """And the note says that this judges less."""
    found = close(waves[:1], pair, tmp_path / "run", settings=QUICK)
    parts = {part: found.facts["split"][part] for part in ("learn", "choose", "test")}
    assert parts == {part: [f"wave_0#{part}"] for part in parts}
    assert "one motion only" in found.facts["notes"][0]


def test_settings_follow_the_data(pair: Robot, waves: list[Recording]) -> None:
    """Unknown loads are told by the start, stated ones are seen and placed."""
    from gapless.identification.plans.rungs import rungs_for
    from gapless.robots import Payload

    def suited(told: list[Recording], **own: object) -> CloseSettings:
        return CloseSettings(**own).suited_to(told, pair)

    told = [replace(w, conditions=replace(w.conditions, payloads=None)) for w in waves]
    assert "start_error" in suited(told).model_settings["now"]
    held = {"gripper": Payload(0.2)}
    told = [replace(w, conditions=replace(w.conditions, payloads=held)) for w in waves]
    assert suited(told).parameters == ("auto",)
    assert any("com_x/gripper" in r.adds.get("com_x", ()) for r in rungs_for(pair, told))
    assert "payload" in suited(told).model_settings["now"]
    assert suited(told, model="operator").model_settings == {"payload": True}
    short = [w.clip(0, 21) for w in waves]
    assert suited(short).horizon == pytest.approx(0.3)


def test_held_out_recordings_do_not_decide(
    pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """The correction looks at the load that the others state; a silent one cannot test it."""
    from gapless.robots import Payload

    held, last = {"gripper": Payload(0.2)}, waves[-1].name
    told = [
        replace(w, conditions=replace(w.conditions, payloads=None if w.name == last else held))
        for w in waves
    ]
    with pytest.raises(DataError, match=f"1 held-out recordings .{last}. do not say"):
        close(told, pair, tmp_path / "run", settings=CloseSettings(test=(last,)))
    assert not (tmp_path / "run").exists()


def test_bad_input(pair: Robot, waves: list[Recording], run: Run, tmp_path: Path) -> None:
    """Folders that are something else, settings that do not exist, nothing to learn from."""
    with pytest.raises(ArtifactError, match="no run"):
        Run.open(tmp_path)
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(ArtifactError, match="not empty and is no run"):
        close(waves, pair, tmp_path, settings=QUICK)
    (tmp_path / "run.json").write_text('{"mine": true}')
    with pytest.raises(FormatError, match="no run of this version"):
        close(waves, pair, tmp_path, settings=QUICK, restart=True)
    assert (tmp_path / "mine.txt").exists()
    wrong = replace(QUICK, trainer_settings={"horizon": 3})
    with pytest.raises(NameMismatchError, match="Did you mean 'horizons'"):
        close(waves, pair, tmp_path / "x", settings=wrong)
    assert not (tmp_path / "x").exists()
    with pytest.raises(DataError, match="gapless check"):
        close([], pair, tmp_path / "x")
    assert isinstance(gapless.Run.open(run.path), Run)
    assert np.isfinite(run.summary["rows"]["raw"]["error"])


def test_what_is_left_out_and_who_judges_is_said(
    pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """A flagged recording is named with its reason; a single held-out motion is a doubt."""
    flagged = replace(waves[0], name="loose", provenance={"flags": ["not_followed"]})
    found = close([*waves, flagged], pair, tmp_path / "run", settings=QUICK)
    left, doubt = found.facts["notes"]
    assert "loose (not_followed)" in left and "only one held-out motion" in doubt
    assert found.read("check")["recordings"] == len(waves) + 1


def test_a_run_is_whole_without_the_files_of_its_robot(tmp_path: Path) -> None:
    """The robot is in the folder: neither name nor path is looked up again."""
    closed = closed_arm(tmp_path)
    (tmp_path / "arm.xml").unlink()
    moved = (tmp_path / "run").rename(tmp_path / "elsewhere")
    again = Run.open(moved)
    assert again.robot.fingerprint() == closed.facts["robot"]["fingerprint"]
    runpy.run_path(str(moved / "use.py"))
    assert "identified" in str(again)
