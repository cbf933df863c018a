"""The report in a real browser: plots are drawn, the replay moves, nothing is fetched or run."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from headless import DESKTOP, PHONE, Browser
from PIL import Image

from closed_arm import HOSTILE, closed_arm
from gapless.reports import report


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the report of a small run with hostile names."""
    folder = tmp_path_factory.mktemp("closed")
    return report(closed_arm(folder), folder / "report.html").as_uri()


def drawn(browser: Browser) -> int:
    """Places that hold a drawing with something in it."""
    script = """return [...document.querySelectorAll('div.plot')].filter(
        (place) => place.querySelector('.main-svg .trace path, .main-svg .hm image')).length"""
    return browser.driver.execute_script(script)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_every_plot_is_drawn_and_fits(
    page: str, browser: Browser, pictures: Path, size: tuple[int, int]
) -> None:
    """No console errors, no requests, no sideways scrolling; each place has its plot."""
    browser.open(page, size)
    places = browser.until(lambda: browser.find("div.plot"))
    browser.until(lambda: drawn(browser) >= len(places))
    width = browser.driver.execute_script("return document.documentElement.scrollWidth")
    assert width <= size[0]
    (pictures / f"report_{size[0]}.png").write_bytes(browser.picture())
    assert browser.errors() == [] and browser.requested() == []


def test_another_joint_gives_other_curves(page: str, browser: Browser) -> None:
    """The list has the log's names as text; choosing one draws it."""
    browser.open(page)
    curve = "return document.getElementById('curves-plot').data[1].y.slice(0, 50)"
    browser.until(lambda: browser.find("#curves-joint option"))
    names = [option.text for option in browser.find("#curves-joint option")]
    assert names == [HOSTILE, "elbow"]
    curves = []
    for k in range(2):
        browser.find(f"#curves-joint option[value='{k}']")[0].click()
        curves.append(browser.driver.execute_script(curve))
    assert np.abs(np.subtract(*curves)).max() > 0.01
    assert browser.errors() == [] and not browser.find("main img")


def test_the_replay_moves(page: str, browser: Browser, pictures: Path) -> None:
    """The slider of the scene moves the robots."""
    browser.open(page, (700, 700))
    show = browser.until(lambda: browser.find("#replay-scene"))[0]
    browser.driver.execute_script("arguments[0].scrollIntoView()", show)
    frame = browser.until(lambda: browser.find("#replay-scene iframe"))[0]
    browser.driver.switch_to.frame(frame)
    try:
        shots = []
        for share in (0.05, 0.7):
            browser.slide(share)
            browser.still()
            shots.append(frame_picture(browser))
    finally:
        browser.driver.switch_to.default_content()
    (pictures / "report_replay.png").write_bytes(shots[1])
    first, second = (np.asarray(Image.open(BytesIO(s)).convert("L"), int) for s in shots)
    assert (np.abs(first - second) > 25).mean() > 0.002
    assert browser.errors() == []


def frame_picture(browser: Browser) -> bytes:
    """A PNG of the scene alone."""
    return browser.find("canvas")[0].screenshot_as_png
