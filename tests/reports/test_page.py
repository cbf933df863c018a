"""The page: self-contained, escaped, and of a run that is not finished too."""

from __future__ import annotations

import json
import re
import shutil
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

import gapless
from closed_arm import HOSTILE
from gapless.closing import Run
from gapless.comparison.comparison import Comparison, Row, Score
from gapless.errors import ArtifactError, FormatError, MissingExtraError
from gapless.reports.page import SECTIONS, in_script, page, report


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep it."""
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def text(run: Run) -> str:
    """The page of the run."""
    return page(run)


def data_of(text: str) -> dict:
    """The data that the page's program draws."""
    inside = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert inside is not None
    return json.loads(inside.group(1))


def test_every_section_is_there_and_every_figure_has_its_place(text: str) -> None:
    """A figure without an element would never be drawn."""
    elements = Elements(text).found
    places = {a.get("id") for _, a in elements}
    assert set(SECTIONS) <= places
    figures = [name for section in data_of(text).values() for name in section["figures"]]
    assert len(figures) >= 8 and set(figures) <= places
    assert "curves-plot" in places and "replay-scene" in places


def test_nothing_is_fetched(text: str) -> None:
    """One file: no scripts, styles, pictures or frames from elsewhere, and the policy says so."""
    for tag, attributes in Elements(text).found:
        for name in ("src", "href", "srcset", "data", "action"):
            value = attributes.get(name) or ""
            assert not value or value.startswith("#"), (tag, name, value)
    assert "default-src 'none'" in text


def test_names_from_a_log_stay_text(text: str) -> None:
    """A joint, a motion and a unit are named like a program; none of it becomes an element."""
    assert HOSTILE not in text
    assert not [tag for tag, _ in Elements(text).found if tag == "img"]
    assert escape(HOSTILE) in text
    joints = [j["name"] for j in data_of(text)["curves"]["clips"][0]["joints"]]
    assert HOSTILE in joints  # the program sees the name itself, and shows it as text
    bars = data_of(text)["gap"]["figures"]["gap-joints"]["data"][0]["x"]
    assert escape(HOSTILE.replace("_", " ")) in bars


def test_json_cannot_leave_its_script() -> None:
    """Neither an end of the script nor a comment can be written."""
    for name in ("</script>", "<!--", "]]>", "\u2028"):
        written = in_script({"x": name})
        assert "<" not in written and ">" not in written and "\u2028" not in written
        assert json.loads(written) == {"x": name}


def test_figures_are_what_plotly_expects(text: str) -> None:
    """Plotly's own schema knows every property."""
    import plotly.graph_objects as go

    for section in data_of(text).values():
        for name, figure in section["figures"].items():
            assert go.Figure(figure).data, name


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_an_unfinished_run_shows_what_exists(run: Run, tmp_path: Path, left: int) -> None:
    """Stages that are missing say so; the rest is shown."""
    stages = ["check", "raw", "identified", "corrected"][:left]
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ["run", *stages]:
        shutil.copy(run.path / f"{name}.json", folder)
    shutil.copytree(run.path / "robot", folder / "robot")
    made = report(folder)
    text = made.read_text("utf-8")
    assert text.count("has not come this far") >= 4 - left
    assert ("joints are" in text) is (left >= 2)
    assert ("not finished" in text) is (left >= 2)


def test_a_damaged_part_is_named_and_the_rest_shown(run: Run, tmp_path: Path) -> None:
    """A broken file does not take the page with it."""
    folder = tmp_path / "run"
    shutil.copytree(run.path, folder)
    (folder / "calibration.json").write_text("{")
    (folder / "replays.npz").write_bytes(b"no zip")
    shutil.rmtree(folder / "robot")
    text = report(folder).read_text("utf-8")
    assert "replays.npz cannot be read" in text and "calibration.json" in text
    assert "robot.json does not exist" in text and "gap-joints" in text


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    """The message says how to make one."""
    with pytest.raises(ArtifactError, match="gapless close"):
        report(tmp_path)


def test_the_missing_extra_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any work."""
    monkeypatch.setattr("gapless.reports.page.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"gapless\[report\]"):
        gapless.report(run)


def test_a_comparison_beside_the_run_is_shown(run: Run, tmp_path: Path) -> None:
    """`gapless compare --json RUN/compare.json` fills the section."""
    folder = tmp_path / "run"
    shutil.copytree(run.path, folder)
    score = Score(0, 3.2, {"replay_error": {"1.0": 0.0123}})
    asked = (Row("raw", (score,)), Row(HOSTILE, (score,))), ("replay_error",), ("1.0",)
    facts = {"test": {"recordings": 7}}
    other = Comparison(*asked, facts, "motions of elsewhere")
    Comparison(*asked, facts, others=(other,)).to_json(folder / "compare.json")
    text = report(folder).read_text("utf-8")
    assert "0.0123" in text and HOSTILE not in text
    assert "on held-out motions: 7" in text and "on motions of elsewhere: 7" in text


@pytest.mark.parametrize("check", [7, {"findings": 3}, {"recordings": None}])
def test_a_damaged_file_of_the_run_costs_its_section_alone(
    run: Run, check: object, tmp_path: Path
) -> None:
    """The others are there; the damaged one says what is wrong."""
    shutil.copytree(run.path, tmp_path / "run")
    (tmp_path / "run" / "check.json").write_text(json.dumps(check))
    text = report(tmp_path / "run", tmp_path / "page.html").read_text()
    assert "damaged" in text and "provenance" in text


@pytest.mark.parametrize("key", ["robot", "settings", "data", "split"])
def test_a_run_whose_facts_are_damaged_is_refused(run: Run, key: str) -> None:
    """In words, by whatever needs them."""
    broken = Run(run.path, {**run.facts, key: "x"})
    with pytest.raises(FormatError, match=rf"damaged: {key}"):
        _ = broken.fact("robot", "name"), broken.raw(), broken.taught
