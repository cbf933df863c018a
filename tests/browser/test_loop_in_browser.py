"""The page of a policy loop in a real browser: plots are drawn, names are text, robots move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from headless import DESKTOP, PHONE, Browser
from test_report_in_browser import drawn

from closed_arm import HOSTILE, closed_arm
from finished_loop import finished_loop
from gapless.reports import report


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the page of a loop with hostile names."""
    folder = tmp_path_factory.mktemp("loop")
    return report(finished_loop(folder / "loop", closed_arm(folder), policies=3)).as_uri()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_every_plot_is_drawn_and_fits(
    page: str, browser: Browser, pictures: Path, size: tuple[int, int]
) -> None:
    """No console errors, no requests, no sideways scrolling."""
    browser.open(page, size)
    places = browser.until(lambda: browser.find("div.plot"))
    browser.until(lambda: drawn(browser) >= len(places))
    width = browser.driver.execute_script("return document.documentElement.scrollWidth")
    assert len(places) == 3 and width <= size[0]
    (pictures / f"loop_{size[0]}.png").write_bytes(browser.picture())
    assert browser.errors() == [] and browser.requested() == []


def test_another_joint_gives_other_curves(page: str, browser: Browser) -> None:
    """Of the reference and every policy; names are text."""
    browser.open(page)
    browser.until(lambda: browser.find("#curves-joint option"))
    assert [o.text for o in browser.find("#curves-joint option")] == [HOSTILE, "elbow"]
    names = "return document.getElementById('curves-plot').data.map((line) => line.name)"
    curve = "return document.getElementById('curves-plot').data[0].y.slice(0, 50)"
    curves = []
    for k in range(2):
        browser.find(f"#curves-joint option[value='{k}']")[0].click()
        curves.append(browser.driver.execute_script(curve))
    assert browser.driver.execute_script(names) == ["reference", "before", "round 1", "after"]
    assert np.abs(np.subtract(*curves)).max() > 0.01
    assert browser.errors() == [] and not browser.find("main img")


def test_the_replay_is_drawn(page: str, browser: Browser, pictures: Path) -> None:
    """With its own slider."""
    browser.open(page, (700, 700))
    show = browser.until(lambda: browser.find("#replay-scene"))[0]
    browser.driver.execute_script("arguments[0].scrollIntoView()", show)
    frame = browser.until(lambda: browser.find("#replay-scene iframe"))[0]
    browser.driver.switch_to.frame(frame)
    try:
        browser.slide(0.7)
        (pictures / "loop_replay.png").write_bytes(browser.still())
        assert browser.find("canvas")
    finally:
        browser.driver.switch_to.default_content()
    assert browser.errors() == []
