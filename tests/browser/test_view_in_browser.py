"""The 3D scene and the live viewer in a real browser: nothing breaks, and robots move."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from headless import DESKTOP, PHONE, Browser
from PIL import Image

from gapless.measurement.side_by_side import SideBySide, side_by_side
from gapless.motions.excitation import multisine
from gapless.recordings import Dataset
from gapless.reports.robot_scene import static_scene
from gapless.reports.viewer import Viewer
from gapless.reports.viewer_sources import DatasetSource
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

HOSTILE = "</script><script>alert('x')</script>"


@pytest.fixture(scope="module")
def arm() -> Robot:
    """A six-joint arm."""
    return Robot.load("so101")


@pytest.fixture(scope="module")
def dataset(arm: Robot) -> Dataset:
    """Two motions of an arm with weak motors; one has a hostile name."""
    weak = MujocoWorld(arm.with_joints(kp=0.5 * arm.joints.kp))
    waves = [
        record(weak, multisine(arm, 2.0, 50, seed=seed), name, start=weak.home())
        for seed, name in enumerate(("wave", HOSTILE))
    ]
    return Dataset.from_recordings(waves, "so101")


@pytest.fixture(scope="module")
def clip(arm: Robot, dataset: Dataset) -> SideBySide:
    """The first motion beside the nominal arm."""
    return side_by_side([dataset[0]], {"raw": MujocoWorld(arm)})[0]


@pytest.fixture
def viewer(arm: Robot, dataset: Dataset) -> Iterator[Viewer]:
    """The dataset, served on a free port."""
    with Viewer(DatasetSource(dataset, arm), port=0) as started:
        yield started


def differs(first: bytes, second: bytes) -> float:
    """Share of the pixels of two pictures that differ clearly."""
    a, b = (np.asarray(Image.open(BytesIO(p)).convert("L"), int) for p in (first, second))
    return float((np.abs(a - b) > 25).mean())


def test_static_scene_needs_nothing_else(
    arm: Robot, clip: SideBySide, browser: Browser, tmp_path: Path, pictures: Path
) -> None:
    """Its own slider moves the arm; no console errors, no requests; it can be put into a page."""
    page = tmp_path / "scene.html"
    page.write_text(static_scene(arm, clip))
    browser.open(page.as_uri(), PHONE)
    browser.slide(0.05)
    first = browser.still()
    browser.slide(0.7)
    second = browser.still()
    (pictures / "static_phone.png").write_bytes(second)
    browser.resize(DESKTOP)
    (pictures / "static_desktop.png").write_bytes(browser.still())
    assert differs(first, second) > 0.005
    assert browser.errors() == []
    assert browser.requested() == []


def test_viewer_is_scrubbed_and_played(viewer: Viewer, browser: Browser, pictures: Path) -> None:
    """Slider and button of the page move the arm; a hostile name is a name."""
    browser.open(viewer.url)
    browser.slide(0.05)
    browser.until(lambda: 0 < viewer.now < 0.5)
    first = browser.still()
    browser.slide(0.7)
    browser.until(lambda: viewer.now > 1.0)
    second = browser.still()
    (pictures / "viewer_desktop.png").write_bytes(second)
    assert differs(first, second) > 0.005
    assert browser.find("canvas") and browser.find(".uplot")
    (play,) = [b for b in browser.find("button") if b.text == "Play"]
    browser.click(play)
    browser.until(lambda: viewer.playing and viewer.now < 0.9)  # it begins anew at the end
    viewer.play(False)
    assert browser.errors() == []
    assert all(name.startswith(viewer.url) for name in browser.requested())


def test_viewer_shows_hostile_names_as_text(
    viewer: Viewer, browser: Browser, pictures: Path
) -> None:
    """Another recording is chosen from the list; its name runs nothing."""
    browser.open(viewer.url, PHONE)
    lists = browser.until(
        lambda: [e for e in browser.find(".mantine-Select-input") if e.is_displayed()]
    )
    browser.click(lists[0])
    (option,) = browser.until(
        lambda: [o for o in browser.find("[role=option]") if HOSTILE in o.text]
    )
    browser.click(option)
    browser.until(lambda: viewer.clip.name == HOSTILE)
    (pictures / "viewer_phone.png").write_bytes(browser.still())
    assert browser.errors() == []
