"""A fleet: units side by side, which parameter differs, who is unlike the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapless.cli.main import main
from gapless.errors import DataError
from gapless.reports.fleet_page import report_fleet
from gapless.scale import Fleet
from gapless.scale.fleet_closing import unit_names
from gapless.scale.fleet_statistics import spread_of, unlike_errors
from small_fleet import GAINS, OPTIONS, made


def test_units_that_differ_are_told(closed: Fleet) -> None:
    """The gains that were planted, in tables and as JSON."""
    assert [unit.name for unit in closed.units] == list(GAINS)
    spread = closed.spreads[0]
    assert spread.differs and spread.name.startswith("kp/") and spread.outliers == ()
    (low, _), (high, _) = spread.values.values()
    assert low / high == pytest.approx(GAINS["u1"] / GAINS["u2"], rel=0.1)
    assert "differs" in str(closed) and "u2" in str(closed)
    again = Fleet.open(closed.path)
    assert json.loads(json.dumps(again.to_dict())) == json.loads(
        (closed.path / "fleet.json").read_text()
    )


def test_the_page_shows_them(closed: Fleet, tmp_path: Path) -> None:
    """Both units and the parameters, in one file."""
    page = report_fleet(closed, tmp_path / "fleet.html").read_text("utf-8")
    assert "Units side by side" in page and "kp/elbow_flex" in page and "differs" in page
    assert "needs 4" in page


@pytest.mark.slow
def test_the_command_on_two_processes_makes_the_same(
    closed: Fleet, units: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs, pages and figures; the same command again finds all of it there."""
    out = tmp_path / "fleet"
    told = ["close", *map(str, units), "--out", str(out), *OPTIONS, "--on", "local:2"]
    assert main([*told, "--json", str(tmp_path / "f.json")]) == 0
    assert made(out) == made(closed.path)
    assert (out / "fleet.html").is_file() and (out / "u1" / "report.html").is_file()
    assert json.loads((tmp_path / "f.json").read_text())["units"][0]["name"] == "u1"
    assert "side by side" not in capsys.readouterr().err
    assert main(told) == 0 and made(out) == made(closed.path)


@pytest.mark.slow
def test_one_dataset_elsewhere_is_the_run_it_is_here(
    closed: Fleet, units: list[Path], tmp_path: Path
) -> None:
    """And nothing beside it is left."""
    told = ["close", str(units[0]), "--out", str(tmp_path / "u1"), *OPTIONS, "--on", "local:1"]
    assert main(told) == 0
    assert made(tmp_path / "u1") == made(closed.path / "u1")
    assert [p.name for p in tmp_path.iterdir()] == ["u1"]


def test_equal_units_do_not_differ_and_an_odd_one_is_named() -> None:
    """By the errors of their fits; few units name nobody."""
    equal = {f"u{k}": (1.0 + 0.01 * (-1) ** k, 0.02) for k in range(6)}
    assert not spread_of("kp", "1", 1.0, equal, 10).differs
    odd = spread_of("kp", "1", 1.0, equal | {"odd": (2.0, 0.02)}, 10)
    assert odd.differs and odd.outliers == ("odd",)
    few = spread_of("kp", "1", 1.0, {"a": (1.0, 0.01), "b": (1.0, 0.01), "c": (2.0, 0.01)}, 1)
    assert few.differs and few.outliers == ()
    assert unlike_errors({"a": 0.01, "b": 0.0102, "c": 0.0099, "d": 0.03}) == ("d",)


def test_units_are_named_by_what_tells_them_apart(tmp_path: Path) -> None:
    """The folder's name, or more of the path; twice the same is refused."""
    paths = [tmp_path / "a" / "fit", tmp_path / "b" / "fit"]
    assert list(unit_names(paths)) == ["a_fit", "b_fit"]
    assert list(unit_names([tmp_path / "a", tmp_path / "b"])) == ["a", "b"]
    with pytest.raises(DataError, match="twice"):
        unit_names([paths[0], paths[0]])
