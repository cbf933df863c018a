"""The page's section on policies: the answer, escaped names, figures, and damaged files."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from closed_arm import HOSTILE
from gapless.artifact import write_json
from gapless.closing import Run
from gapless.evaluation import Evaluation, Scenario
from gapless.evaluation.closed_loop import ClosedLoop, Likeness
from gapless.evaluation.evaluation import Sensitivity, WorldScores
from gapless.evaluation.falls import Fall
from gapless.evaluation.kept_evaluations import FOLDER
from gapless.reports.page import page
from gapless.reports.sections.policies_section import JOINTS, data

BOLD = "<b>x</b>"
FALLS = (
    Fall(0, 1.5, "left_knee_joint at its torque limit", True),
    Fall(2, 2.5, "left_knee_joint at its torque limit", False),
    Fall(3, 3.5, f"{HOSTILE} slipping", False),
)


def scores(world: str, falls: tuple[Fall, ...] = ()) -> WorldScores:
    """Four episodes of which some fell; one score says nothing."""
    fell = {fall.episode: fall.seconds for fall in falls}
    return WorldScores(
        world=world,
        identity={},
        survived=tuple(k not in fell for k in range(4)),
        seconds=tuple(fell.get(k, 8.0) for k in range(4)),
        commands=("velocity 0 0 0",) * 4,
        scores={"velocity_error": (0.1, 0.3, None, 0.2), "tilt": (0.1,) * 4, "vy": (None,) * 4},
        peaks={f"joint_{j}": 0.05 * (j + 1) for j in range(15)},
        falls=falls,
    )


def evaluation(**changes: object) -> Evaluation:
    """A policy that falls in the identified simulator, and what that depends on."""
    told = {
        "policy": BOLD,
        "robot": "go2",
        "scenario": Scenario(episodes=4, seconds=8.0, push=0.5),
        "worlds": (scores("raw"), scores("identified", FALLS)),
        "sensitivity": (
            Sensitivity("kp/knee_joint", (0.9, 1.1), (1.0, 1.0, 0.75), (0.1, 0.1, 0.2)),
            Sensitivity(HOSTILE, (0.1, 0.3), (1.0, 0.25, 1.0), (0.1, 0.4, 0.1)),
        ),
        "notes": (f"its contract names {HOSTILE}",),
    }
    return Evaluation(**told | changes)  # type: ignore[arg-type]


LOOP = ClosedLoop(
    (
        Likeness(
            "torque",
            "N·m",
            None,
            {"raw": None, "identified": None},
            {"raw": 9.5} | {"identified": 2.25},
        ),
        Likeness(
            "vx", "m/s", 0.48, {"raw": 0.61, "identified": 0.47}, {"raw": 0.13, "identified": 0.01}
        ),
    ),
    3,
    24.0,
)


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    """A copy of the run, to put evaluations into."""
    return Path(shutil.copytree(run.path, tmp_path / "run"))


def keep(folder: Path, name: str, found: Evaluation, **more: object) -> None:
    """As `gapless evaluate --run` does, without the clip."""
    write_json(folder / FOLDER / f"{name}.json", {**found.to_dict(), **more})


def section_of(text: str) -> str:
    """What stands between the section's first tag and its last."""
    inside = re.search(r'<section id="policies">(.*?)</section>', text, re.S)
    assert inside is not None
    return inside.group(1)


def test_without_evaluations_it_says_what_to_type(run: Run) -> None:
    """And draws nothing."""
    shown = data(run)
    assert shown["policies"] == [] and shown["figures"] == {}
    assert f"gapless evaluate POLICY --run {run.path}" in section_of(page(run))


def test_the_page_has_the_answer_and_every_name_as_text(folder: Path) -> None:
    """The answer is first; a policy named like markup makes none; every figure has its place."""
    found = evaluation()
    keep(folder, "x", found, closed_loop=asdict(LOOP))
    text = page(Run.open(folder))
    inside = section_of(text)
    assert BOLD not in text and HOSTILE not in text and "<b>" not in inside
    assert inside.index("&lt;b&gt;x&lt;/b&gt;") < inside.index("survives 100 % raw")
    assert inside.index("survives 100 % raw, 25 % identified") < inside.index("<table>")
    assert "falls begin with left_knee_joint at its torque limit (2 of 3)" in inside
    for name in ("sensitivity", "peaks"):
        assert f'id="policies-0-{name}"' in inside
    assert "<strong>2.25</strong>" in inside and "<strong>9.5</strong>" not in inside
    assert "3 recordings of the robot, 24 s" in inside
    stored = re.search(r'id="data">(.*?)</script>', text, re.S)
    assert stored is not None and set(json.loads(stored.group(1))["policies"]["figures"]) == {
        "policies-0-sensitivity",
        "policies-0-peaks",
    }


def test_scores_are_those_of_the_terminal(folder: Path) -> None:
    """The same rows, in the same order, with the same numbers."""
    from gapless.evaluation.evaluation_tables import scores_table

    found = evaluation()
    keep(folder, "x", found)
    (shown,) = data(Run.open(folder))["policies"]
    table = scores_table(found)
    columns = [list(column.cells) for column in table.columns]
    assert [[row["title"], *row["cells"]] for row in shown["scores"]] == [
        list(row) for row in zip(*columns, strict=True)
    ]
    assert shown["scores"][0]["title"] == "survival, %" and len(shown["scores"]) == 3
    assert shown["asked"] == "go2, 4 episodes of up to 8 s, pushed by 0.5 m/s every 4 s"


def test_figures_show_what_costs_most_and_what_is_nearest_to_its_limit(folder: Path) -> None:
    """Plotly knows every property; the costliest parameter and the hardest joint are first."""
    import plotly.graph_objects as go

    keep(folder, "x", evaluation())
    figures = data(Run.open(folder))["figures"]
    costs, peaks = figures["policies-0-sensitivity"], figures["policies-0-peaks"]
    assert go.Figure(costs).data and go.Figure(peaks).data
    assert costs["data"][0]["x"] == [75.0, 25.0]
    assert costs["data"][0]["y"][1] == "kp/knee"
    assert [bar["name"] for bar in peaks["data"]] == ["raw", "identified"]
    assert len(peaks["data"][0]["x"]) == JOINTS and peaks["data"][0]["x"][0] == "joint 14"
    assert peaks["data"][0]["y"][0] == pytest.approx(75.0)


def test_parameters_that_cost_no_survival_are_shown_by_their_error(folder: Path) -> None:
    """A figure of zeros would say nothing; one that was not asked for is not there."""
    safe = Sensitivity("kp", (0.9, 1.1), (1.0, 1.0, 1.0), (0.1, 0.1, 0.25))
    keep(folder, "safe", evaluation(sensitivity=(safe,)))
    keep(folder, "short", evaluation(policy="short", sensitivity=()))
    found = data(Run.open(folder))
    figure = found["figures"]["policies-0-sensitivity"]
    assert figure["data"][0]["x"] == [0.15] and "error" in figure["data"][0]["name"]
    assert "policies-1-sensitivity" not in found["figures"]
    assert [p["name"] for p in found["policies"]] == [BOLD, "short"]


def test_falls_are_counted_by_cause(folder: Path) -> None:
    """The most common first, with those that came after a push; nothing where nothing fell."""
    keep(folder, "a", evaluation())
    keep(folder, "b", evaluation(worlds=(scores("raw"),)))
    first, second = data(Run.open(folder))["policies"]
    assert [(r["world"], r["count"], r["pushed"]) for r in first["falls"]] == [
        ("identified", 2, 1),
        ("identified", 1, 0),
    ]
    all_fell = tuple(Fall(k, 1.0, "no limit reached", False) for k in range(4))
    keep(folder, "b", evaluation(worlds=(scores("raw", all_fell),)))
    assert "up to 8 s" in data(Run.open(folder))["policies"][1]["asked"]
    assert second["falls"] == [] and second["closed_loop"] is None


@pytest.mark.parametrize(
    "broken",
    [
        {"closed_loop": {"rows": []}},
        {"closed_loop": [1]},
        {"worlds": []},
        {"sensitivity": [{"parameter": "kp", "interval": [1], "survival": [1], "error": [1]}]},
    ],
)
def test_a_damaged_evaluation_is_named_and_the_rest_shown(
    folder: Path, broken: dict[str, object]
) -> None:
    """Cut short or wrong inside: the section says so, the page is there."""
    keep(folder, "x", evaluation(), **broken)
    inside = section_of(page(Run.open(folder)))
    assert "damaged" in inside and "evaluations" in inside
    (folder / FOLDER / "x.json").write_text('{"format": "gap')
    text = page(Run.open(folder))
    assert "x.json" in section_of(text) and "no valid JSON" in section_of(text)
    assert "gap-joints" in text and "Provenance" in text
