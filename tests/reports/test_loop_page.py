"""The page of a policy loop: the answer first, escaped, whole or refused; also in the viewer."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

import pytest
from test_page import Elements, data_of

import gapless
from closed_arm import HOSTILE
from finished_loop import FELL, LENGTH, finished_loop
from gapless.artifact import read_json, write_json
from gapless.cli.main import main
from gapless.cli.view_command import source_of
from gapless.closing import Run
from gapless.errors import ArtifactError
from gapless.reports.page import LOOP_SECTIONS, page
from gapless.reports.viewer import Viewer
from gapless.reports.viewer_sources import LoopSource
from gapless.tracking.loop_folder import SUMMARY, LoopFolder


@pytest.fixture(scope="module")
def loop(run: Run, tmp_path_factory: pytest.TempPathFactory) -> LoopFolder:
    """Of two rounds, with hostile names everywhere."""
    return finished_loop(tmp_path_factory.mktemp("loops") / "loop", run, policies=3)


@pytest.fixture(scope="module")
def text(loop: LoopFolder) -> str:
    """Its page."""
    return page(loop)


@pytest.fixture
def folder(loop: LoopFolder, tmp_path: Path) -> Path:
    """A copy, to be damaged."""
    return Path(shutil.copytree(loop.path, tmp_path / "loop"))


def test_the_answer_is_first_and_every_policy_has_its_row(text: str) -> None:
    """ASAP's columns; falls are pointed out."""
    answer = f"E_g-mpjpe 200 → 67 mm on {escape(HOSTILE)}, success 75 → 100 %"
    assert text.index(answer) < text.index("<table>")
    for title in ("survival", "success", "E_g-mpjpe", "E_mpjpe", "E_vel", "E_acc"):
        assert f"<th>{title}, " in text
    for name, cells in (("before", "75 75 200 100 1.5 -"), ("after", "100 100 66.7 33.3 1.5 -")):
        row = re.search(rf"</span>{name}</span> <span.*?</tr>", text)
        assert row is not None
        assert re.findall(r"<td>(.*?)</td>", row.group()) == cells.split()
    assert "Robots fell" in text and "scores exactly" not in text


def test_a_tuning_that_changed_nothing_says_so(folder: Path) -> None:
    """Two curves that hide each other are no mistake of the page."""
    told = read_json(folder / SUMMARY)
    told["policies"]["policy_2"] = told["policies"]["policy_1"]
    write_json(folder / SUMMARY, told)
    text = page(LoopFolder.open(folder))
    assert text.count("scores exactly") == 1 and "policy_2 scores exactly" in text


def test_every_section_and_figure_has_its_place(text: str) -> None:
    """And plotly knows every property."""
    import plotly.graph_objects as go

    places = {a.get("id") for _, a in Elements(text).found}
    assert set(LOOP_SECTIONS) <= places
    assert {"loop-errors", "curves-joint", "curves-plot", "curves-error", "replay-scene"} <= places
    figure = data_of(text)["loop_curves"]["figures"]["loop-errors"]
    assert go.Figure(figure).data
    assert [line["name"] for line in figure["data"]] == ["before", "round 1", "after"]
    assert len({line["line"]["color"] for line in figure["data"]}) == 3
    first = figure["data"][0]["y"]
    assert first[FELL - 1] == 200 and first[FELL:] == [None] * (LENGTH - FELL)


def test_joints_are_drawn_beside_the_reference(text: str) -> None:
    """The program is told against what; no commands, which would only hide the rest."""
    found = data_of(text)["loop_curves"]
    (clip,) = found["clips"]
    assert found["against"] == "reference" and set(found["colours"]) == set(
        clip["joints"][0]["tracks"]
    )
    assert [j["name"] for j in clip["joints"]] == [HOSTILE, "elbow"]
    assert clip["joints"][1]["command"] is None
    assert list(clip["joints"][1]["errors"]) == ["before", "round 1", "after"]
    assert len(data_of(text)["loop_replay"]["html"]) > 100_000


def test_names_stay_text_and_nothing_is_fetched(text: str) -> None:
    """Motion, target, joint, episode, settings and engine are named like a program."""
    assert HOSTILE not in text and escape(HOSTILE) in text
    assert not [tag for tag, _ in Elements(text).found if tag == "img"]
    for tag, attributes in Elements(text).found:
        for name in ("src", "href", "srcset", "data", "action"):
            value = attributes.get(name) or ""
            assert not value or value.startswith("#"), (tag, name, value)
    assert "default-src 'none'" in text


def test_rounds_show_their_runs(folder: Path, run: Run) -> None:
    """Errors of each simulator, what makes its page, and a link where that is there."""
    (folder / "run_2" / "report.html").write_text("made before")
    text = gapless.report(folder).read_text("utf-8")
    rounds = text[text.index('<section id="loop_rounds">') :]
    assert '<a href="run_2/report.html">run_2</a>' in rounds and "<td>run_1</td>" in rounds
    assert f"gapless report {folder / 'run_1'}" in rounds
    assert f"{run.summary['rows']['raw']['error']:.4f} rad" in rounds


def test_command_and_python_make_the_same_page(folder: Path, tmp_path: Path) -> None:
    """Into the folder by default; the page is computed from nothing but the folder."""
    made = gapless.report(folder)
    assert made == folder / "report.html"
    assert main(["report", str(folder), "--out", str(tmp_path / "p.html")]) == 0
    both = made.read_text("utf-8"), (tmp_path / "p.html").read_text("utf-8")
    shown = [{k: v for k, v in data_of(t).items() if k != "loop_replay"} for t in both]
    assert shown[0] == shown[1]


def test_a_loop_that_is_not_finished_has_no_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says what to type; nothing is written."""
    (folder / SUMMARY).unlink()
    with pytest.raises(ArtifactError, match="not finished"):
        gapless.report(folder)
    for verb in ("report", "view"):
        assert main([verb, str(folder)]) == 2
        message = capsys.readouterr().err
        assert "not finished" in message and "gapless loop" in message
    assert not (folder / "report.html").exists()


def test_what_is_missing_is_named_and_the_rest_shown(folder: Path) -> None:
    """A loop of an earlier version has no episodes; a run may be gone."""
    (folder / "policy_1.npz").unlink()
    (folder / "policy_2.json").write_text("{")
    shutil.rmtree(folder / "run_1")
    (folder / "run_2" / "summary.json").unlink()
    text = gapless.report(folder).read_text("utf-8")
    assert text.count("policy_1.npz is not there") == 2 and "policy_2.json" in text
    assert "E_g-mpjpe 200 → 67 mm" in text and "<td>-</td><td>-</td><td>-</td>" in text


def test_the_viewer_shows_the_same(loop: LoopFolder) -> None:
    """The last policy solid, the others and the reference ghosts."""
    source = source_of(loop.path, None, None)
    assert isinstance(source, LoopSource)
    assert source.tracks == ("reference", "before", "round 1", "after")
    with Viewer(source, port=0) as viewer:
        assert "after is solid" in viewer.panel.note.content
        viewer.scrub(99.0)
        assert viewer.frame == len(viewer._frames) - 1


def test_a_page_needs_no_learner(loop: LoopFolder) -> None:
    """Neither a run's nor a loop's: torch stays out."""
    code = (
        "import gapless.reports.page, sys; from gapless.tracking.loop_folder import LoopFolder; "
        f"LoopFolder.open({json.dumps(str(loop.path))}).side_by_side(); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
