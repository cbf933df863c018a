"""compare(): one split, one judge, failures shown, finished work kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gapless.comparison.comparing import compare
from gapless.comparison.comparison import Comparison
from gapless.comparison.judged_sets import JudgedSets
from gapless.comparison.methods import METHODS, Bench, merged
from gapless.errors import ArtifactError, DataError, NameMismatchError
from gapless.recordings import Recording, Split, split_recordings
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.world import World
from hidden_pair import STEP, recorded

TINY = {
    "ours": {
        "model": "mlp",
        "members": 1,
        "model_settings": {"sizes": [8]},
        "trainer_settings": {"horizons": [0.2], "iterations": 6, "samples": 200},
    },
    "identify": {"windows": 6},
}


@pytest.fixture(scope="module")
def units(soft: Robot) -> list[Recording]:
    """Two units that are alike, five motions each, unloaded and said so."""
    names = [f"wave_{i}" for i in range(5)]
    return [r for u in "12" for r in recorded(soft, names, seconds=3.0, unit=u, payloads={})]


def asked(
    dataset: Split | list[Recording], robot: Robot, *methods: str, **options: Any
) -> Comparison:
    """A comparison that takes no time."""
    usual = {"seeds": 2, "horizons": (0.5,), "physics_step": STEP, "settings": TINY}
    return compare(dataset, robot, methods, **{**usual, **options})


def test_methods_are_judged_on_the_same_unseen_recordings(
    units: list[Recording], pair: Robot, tmp_path: Path
) -> None:
    """Rows have figures by horizon and payload, times and seeds; identification is near perfect."""
    torch.set_num_threads(1)
    found = asked(split_recordings(units, units=("2",)), pair, "identify", "ours")
    assert [row.method for row in found.rows] == ["raw", "identify", "ours"]
    assert found.reduction("identify") > 0.9 and found.improved("ours")
    assert found["raw"].metric("replay_error", "0.5").seeds == 1
    assert found["ours"].metric("replay_error", "0.5").seeds == 2
    assert found["ours"].seconds.mean > found["identify"].seconds.mean
    assert found.payloads == ("0 kg",)
    facts = found.facts
    assert [facts[part]["units"] for part in ("learn", "choose", "test")] == [["1"], ["1"], ["2"]]
    parts = [set(facts["split"][part]) for part in ("learn", "choose", "test")]
    assert all(parts) and len(set.union(*parts)) == sum(map(len, parts))
    found.to_json(tmp_path / "c.json")
    rows = json.loads((tmp_path / "c.json").read_text())["rows"]
    assert rows[1]["metrics"]["replay_error"]["0.5"]["reduction"] > 0.9 and rows[1]["improved"]


def test_a_method_that_fails_or_does_not_improve_is_shown(
    units: list[Recording], pair: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others go on; the table names both."""

    def failing(bench: Bench) -> World:
        raise DataError("too few recordings")

    def worse(bench: Bench) -> World:
        robot = bench.world.robot
        return bench.world.variant(robot=robot.with_joints(kp=3 * robot.joints.kp))

    monkeypatch.setitem(METHODS, "asap", failing)
    monkeypatch.setitem(METHODS, "gaponet", worse)
    found = asked(units, pair, "asap", "gaponet")
    assert found["asap"].failures == ("too few recordings",)
    assert found["asap"].metric("replay_error", "0.5").seeds == 0
    assert not found.improved("gaponet") and not found["gaponet"].failures
    assert found.to_dict()["rows"][1]["metrics"]["replay_error"]["0.5"]["mean"] is None


def test_a_stopped_comparison_goes_on(
    units: list[Recording], pair: Robot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Finished scores are not made again; other questions are refused; --restart forgets."""
    file, calls = tmp_path / ".c.progress", []

    def slow(bench: Bench) -> World:
        calls.append(bench.seed)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return bench.world

    monkeypatch.setitem(METHODS, "asap", slow)
    with pytest.raises(KeyboardInterrupt):
        asked(units, pair, "asap", checkpoint=file)
    assert (
        asked(units, pair, "asap", checkpoint=file)["asap"].metric("replay_error", "0.5").seeds == 2
    )
    assert calls == [0, 1, 1]
    with pytest.raises(ArtifactError, match=r"budget differ.*--restart"):
        asked(units, pair, "asap", checkpoint=file, budget=1.0)
    asked(units, pair, "asap", checkpoint=file, budget=1.0, restart=True)
    assert calls == [0, 1, 1, 0, 1]
    file.write_text("{")
    asked(units, pair, checkpoint=file)


def test_other_recordings_judge_the_same_trainings(
    units: list[Recording],
    pair: Robot,
    soft: Robot,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Each method is trained once; what is learned from judges in no set; all of it is kept."""
    split, calls = split_recordings(units[:5]), []
    other = [*units[5:], *recorded(soft, ["new"], seconds=3.0, first=9, unit="3", payloads={})]

    def half(bench: Bench) -> World:
        calls.append(bench.seed)
        robot = bench.world.robot
        return bench.world.variant(robot=robot.with_joints(kp=0.8 * robot.joints.kp))

    def found() -> Comparison:
        file = tmp_path / ".c.progress"
        return asked(split, pair, "asap", test_on={"there": other}, checkpoint=file)

    monkeypatch.setitem(METHODS, "asap", half)
    first, again = found(), found()
    assert calls == [0, 1] and first.to_dict() == again.to_dict()
    there = first.on("motions of there")
    assert first.on("held-out motions") is first and first.others == (there,)
    # One of five motions is held out; the other unit did it too, and another did a new one.
    assert [one.facts["test"]["recordings"] for one in (first, there)] == [1, 2]
    assert there.improved("asap") and 0 < first.reduction("asap") != there.reduction("asap") > 0
    assert [one["title"] for one in first.to_dict()["others"]] == ["motions of there"]
    with pytest.raises(NameMismatchError, match="motions of there"):
        first.on("motions of ther")


def test_other_recordings_alone_can_judge(units: list[Recording], pair: Robot) -> None:
    """Nothing need be held out then; of what is learned from nothing is left."""
    split = split_recordings(units[:3], test=0.0)
    found = asked(split, pair, test_on={"there": units[5:]})
    assert found.title == "motions of there" and found.facts["test"]["recordings"] == 2
    with pytest.raises(DataError, match="every motion is learned from"):
        asked(split, pair, test_on={"there": units[5:8]})
    with pytest.raises(DataError, match="there has recordings at 25 Hz"):
        asked(split, pair, test_on={"there": [replace(r, rate=25.0) for r in units[5:]]})


def test_what_cannot_be_compared_is_refused(units: list[Recording], pair: Robot) -> None:
    """A leak, an unknown method, nothing to judge by, no seed."""
    with pytest.raises(DataError, match=r"wave_0\): the same was commanded in both"):
        asked(Split.of(units[:5], test=units[5:6]), pair)
    with pytest.raises(NameMismatchError, match="Did you mean 'asap'"):
        asked(units, pair, "asp")
    with pytest.raises(NameMismatchError, match="unknown method 'our'"):
        asked(units, pair, settings={"our": {}})
    with pytest.raises(DataError, match="nothing is held out"):
        asked(split_recordings(units, test=0.0), pair)
    with pytest.raises(DataError, match="seeds"):
        asked(units, pair, seeds=0)


def test_a_robot_that_moves_is_judged_by_its_bodies() -> None:
    """ASAP's four metrics come first there, and joints after them."""
    judge = JudgedSets({}, (0.25,), None, free=True)
    assert judge.metrics == ("e_g_mpjpe", "e_mpjpe", "e_acc", "e_vel", "replay_error")


@pytest.mark.parametrize("name", [n for n in METHODS if n not in ("raw", "identify", "asap-sysid")])
def test_learned_methods_ask_for_models_and_trainers_that_exist(
    name: str, units: list[Recording], pair: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names and settings of every method are known to `correct`."""
    from gapless.comparison import methods
    from gapless.corrections.correcting import CorrectSettings
    from gapless.corrections.models import model_of
    from gapless.corrections.training import trainer_of

    seen = []

    def correct(data: Split, *_: Any, settings: CorrectSettings, seed: int, **__: Any) -> None:
        model_of(settings.model, settings.model_settings)
        trainer_of(settings.trainer, settings.trainer_settings)
        seen.append((settings, data, seed))
        raise DataError("enough")

    monkeypatch.setattr(methods, "correct", correct)
    monkeypatch.setattr(methods, "identify", lambda *_, **__: None)
    bench = Bench(MujocoWorld(pair, 50), Split.of(units), budget=7.0, seed=3)
    with pytest.raises(DataError, match="enough"):
        METHODS[name](bench)
    ((chosen, data, seed),) = seen
    assert data is bench.split and seed == 3
    if chosen.trainer == "ppo":
        assert chosen.trainer_settings["seconds"] == 7.0


def test_settings_are_merged_one_by_one() -> None:
    """Settings of model and trainer keep what is not replaced."""
    found = merged({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 4}, "b": 5, "c": {"z": 6}})
    assert found == {"a": {"x": 1, "y": 4}, "b": 5, "c": {"z": 6}}
