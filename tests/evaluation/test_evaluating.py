"""evaluate(): the same scenario in several worlds, and its answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gapless import Evaluation, HiddenWorld, MujocoWorld, Policy, Robot, Scenario, evaluate
from gapless.errors import DataError, FormatError, NameMismatchError
from gapless.evaluation.evaluating import judge_episodes, play_worlds
from gapless.evaluation.kept_evaluations import keep_evaluation, kept_evaluations, worst_episodes

GENTLE = Scenario(episodes=4, seconds=1.0)
ROUGH = Scenario(episodes=6, seconds=2.5, push=7.0, push_every=1.0)


@pytest.fixture(scope="module")
def found(still: Policy, go2: Robot) -> Evaluation:
    """Pushed over in two worlds."""
    worlds = {"raw": MujocoWorld(go2), "hidden": HiddenWorld(go2, "typical")}
    return evaluate(still, worlds, ROUGH)


def test_the_answer_comes_first(found: Evaluation) -> None:
    """Survival in every world, and how falls begin in the last."""
    assert found.answer.startswith("survives ")
    assert "% raw, " in found.answer and "% hidden; falls begin with" in found.answer
    assert str(found).splitlines()[0].startswith("survives ")


def test_falls_and_survival_agree(found: Evaluation) -> None:
    """Every episode survived or fell, once."""
    for world in found.worlds:
        assert len(world.falls) == sum(not s for s in world.survived)
        assert all(fall.pushed for fall in world.falls)
    assert found["raw"].survival < 1


def test_without_a_push_nothing_falls(still: Policy, world: MujocoWorld) -> None:
    """The answer then says what is nearest to its limit."""
    found = evaluate(still, world, GENTLE)
    assert found["raw"].survival == 1
    assert "nearest to its limit is" in found.answer


def test_it_is_read_back_as_it_was(found: Evaluation, tmp_path: Path) -> None:
    """JSON beside every table."""
    found.save(tmp_path / "e.json")
    again = Evaluation.load(tmp_path / "e.json")
    assert again.to_dict() == found.to_dict()
    (tmp_path / "e.json").write_text('{"format": "gapless evaluation 1"}')
    with pytest.raises(FormatError, match="damaged"):
        Evaluation.load(tmp_path / "e.json")


def test_a_run_keeps_the_numbers_and_the_worst_episode(
    still: Policy, go2: Robot, tmp_path: Path
) -> None:
    """The worst is one that fell, up to its fall."""
    worlds = {"raw": MujocoWorld(go2), "hidden": HiddenWorld(go2, "typical")}
    played = play_worlds(still, worlds, ROUGH)
    found = judge_episodes(still, worlds, played, ROUGH)
    keep_evaluation(tmp_path, found, played, found.to_dict())
    ((again, _),) = kept_evaluations(tmp_path)
    (clip,) = worst_episodes(tmp_path)
    worst = found.worlds[-1].worst
    assert again.answer == found.answer
    assert not found.worlds[-1].survived[worst]
    assert list(clip.tracks) == ["raw", "hidden"]
    assert clip.tracks["hidden"].base_pos is not None


def test_an_unknown_world_or_command_is_named(found: Evaluation, still: Policy, world) -> None:
    """With those that exist."""
    with pytest.raises(NameMismatchError, match="Known: raw, hidden"):
        found["real"]
    with pytest.raises(DataError, match="has 3 numbers"):
        evaluate(still, world, replace(GENTLE, commands=((0.5,),)))
    with pytest.raises(DataError, match="no world"):
        evaluate(still, {})


@pytest.mark.parametrize("change", [{"worlds": []}, {"worlds": [3]}, {"notes": [1.5]}])
def test_a_damaged_evaluation_is_refused(change: dict, tmp_path: Path) -> None:
    """One without a world, which has no answer, too."""
    from finished_loop import evaluation

    with pytest.raises(FormatError, match="is damaged"):
        Evaluation.from_dict({**evaluation(1.0, False).to_dict(), **change})
