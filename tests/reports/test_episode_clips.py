"""Clips in which nothing was recorded: a policy's worst episode in the viewer and the scene."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scene_messages import recorded

from gapless.errors import FormatError
from gapless.evaluation.kept_evaluations import FOLDER
from gapless.measurement.side_by_side import SideBySide, Track, save_side_by_side
from gapless.reports.error_colours import scales_of, worst_joint
from gapless.reports.ghosts import ghosts_of, solid_of
from gapless.reports.rig import Rig
from gapless.reports.robot_scene import BODY, GHOST, colour_of, static_scene
from gapless.reports.viewer import Viewer
from gapless.reports.viewer_sources import RunSource
from gapless.robots import Robot

LENGTH, RATE = 200, 50.0
FAR = 4.0
"""Metres that the last robot walks."""


@pytest.fixture(scope="module")
def go2() -> Robot:
    """A free robot."""
    return Robot.load("go2", mount="free")


def walk(robot: Robot, metres: float) -> Track:
    """Along x, with a leg that swings."""
    share = np.linspace(0.0, 1.0, LENGTH)[:, None]
    q = np.tile(robot.joints.default, (LENGTH, 1))
    q[:, 1] += 0.3 * np.sin(20 * share[:, 0])
    pos = np.array([0.0, 0.0, 0.3]) + share * np.array([metres, 0.0, 0.0])
    return Track(q, pos, np.tile([1.0, 0.0, 0.0, 0.0], (LENGTH, 1)))


def clip_of(robot: Robot, *tracks: str, title: str = "trot: worst episode") -> SideBySide:
    """Robots of which each walks farther than the one before; the last command is unknown."""
    target = np.tile(robot.joints.default, (LENGTH, 1))
    target[-1] = np.nan
    walks = {n: walk(robot, FAR * (k + 1) / len(tracks)) for k, n in enumerate(tracks)}
    return SideBySide(title, None, None, robot.joints.names, RATE, "full", target, walks)


def run_of(folder: Path, robot: Robot, replays: list[SideBySide], *episodes: SideBySide) -> object:
    """What the viewer reads of a run."""
    (folder / FOLDER).mkdir()
    for k, episode in enumerate(episodes):
        save_side_by_side(folder / FOLDER / f"{k}.npz", [episode])
    return SimpleNamespace(path=folder, robot=robot, replays=replays, facts={})


@pytest.fixture
def alone(tmp_path: Path, go2: Robot) -> Iterator[Viewer]:
    """A run without replays, with one episode."""
    run = run_of(tmp_path, go2, [], clip_of(go2, "raw", "identified", "corrected"))
    with Viewer(RunSource(run), port=0) as started:  # type: ignore[arg-type]
        yield started


@pytest.fixture
def mixed(tmp_path: Path, go2: Robot) -> Iterator[Viewer]:
    """A run with a replay and an episode."""
    replay = replace(clip_of(go2, "real", "raw", "corrected"), name="log")
    run = run_of(tmp_path, go2, [replay], clip_of(go2, "raw", "corrected"))
    with Viewer(RunSource(run), port=0) as started:  # type: ignore[arg-type]
        yield started


def looks(viewer: Viewer) -> dict[str, float | None]:
    """Opacity of every robot that is seen; None is solid."""
    seen = {name: figure for (name, _), figure in viewer._made.items() if figure.root.visible}
    assert len(seen) == sum(figure.root.visible for figure in viewer._made.values())
    return {n: next(m.opacity for m in f._nodes if hasattr(m, "opacity")) for n, f in seen.items()}


def base_of(viewer: Viewer, track: str) -> np.ndarray:
    """Where a robot's root link is seen."""
    root = viewer._rig.links.index(viewer._rig.robot.root)
    return viewer._stage._ground.position + viewer._figures[track]._nodes[root].position


def test_the_last_is_solid_where_nothing_was_recorded() -> None:
    """Else what was real; the solid one is before all ghosts."""
    assert solid_of(["real", "raw"]) == "real" and solid_of(["raw", "mine"]) == "mine"
    assert ghosts_of(["raw", "identified", "mine"]) == {"mine": 0, "raw": 1, "identified": 2}
    assert ghosts_of(["real", "raw"]) == {"real": 0, "raw": 1}


def test_a_run_with_episodes_alone_is_shown(alone: Viewer) -> None:
    """The last simulator solid in its own colour, the others ghosts, no errors to colour by."""
    assert alone._source.names == ("1. trot: worst episode",)
    assert looks(alone) == {"raw": GHOST, "identified": GHOST, "corrected": None}
    colours = {colour_of("corrected", alone._figures)}
    alone.colour()
    assert set(alone._figures["corrected"]._colours) == colours and BODY not in colours
    assert alone.panel.colours.options == ("plain",) and alone.panel.colours.disabled
    assert "corrected robot is solid" in alone.panel.note.content


def test_curves_are_targets_and_tracks(alone: Viewer) -> None:
    """Nothing real is among them; an unknown last command does not spoil the axis."""
    labels = [series["label"] for series in alone.panel._curves.series]
    assert labels == ["s", "command", "raw", "identified", "corrected", "now"]
    assert np.isfinite(alone.panel._curves.scales["y"]["range"]).all()
    alone.scrub(2.0)
    assert alone.frame > 0


def test_a_robot_that_walks_is_followed(alone: Viewer) -> None:
    """Its base moves on the ground, and the ground below it; ghosts stay behind as they did."""
    alone.scrub(99.0)
    ground = alone._stage._ground.position
    assert (base_of(alone, "corrected") - ground)[0] == pytest.approx(FAR, abs=0.1)
    assert base_of(alone, "corrected")[:2] == pytest.approx([0, 0], abs=1e-3)
    assert base_of(alone, "raw")[0] == pytest.approx(-2 / 3 * FAR, abs=0.1)
    assert alone._stage.sight.distance < 10
    alone.scrub(0.0)
    assert alone._stage._ground.position == pytest.approx([0, 0, 0], abs=1e-6)


def test_replays_come_first_and_who_is_a_ghost_there_is_solid_here(mixed: Viewer) -> None:
    """And back again; errors colour the real robot only."""
    assert mixed._source.names == ("1. log", "2. trot: worst episode")
    assert mixed._source.tracks == ("real", "raw", "corrected")
    ghosts = {"real": None, "raw": GHOST, "corrected": GHOST}
    assert looks(mixed) == ghosts and not mixed.panel.colours.disabled
    mixed.panel.colours.value = "error of raw"
    mixed.colour()
    assert looks(mixed) == {"real": None}
    mixed.choose(1)
    assert looks(mixed) == {"raw": GHOST, "corrected": None}
    assert mixed.panel.colours.disabled and mixed.panel.tracks["real"].disabled
    assert "red" not in mixed.panel.note.content
    mixed.panel.colours.value = "plain"
    mixed.choose(0)
    assert looks(mixed) == ghosts and mixed.panel.note.content == ""


def test_what_is_judged_by_a_recording_is_not_without_one(go2: Robot) -> None:
    """No scales, and the first joint."""
    clip = clip_of(go2, "raw", "corrected")
    assert scales_of(clip) == {}
    assert worst_joint(clip, go2.joints.names) == go2.joints.names[0]


def test_a_damaged_episode_is_named(tmp_path: Path, go2: Robot) -> None:
    """With its file."""
    run = run_of(tmp_path, go2, [])
    (tmp_path / FOLDER / "trot.npz").write_bytes(b"no zip")
    with pytest.raises(FormatError, match=r"trot\.npz"):
        RunSource(run)  # type: ignore[arg-type]


def test_the_static_scene_shows_the_walk(go2: Robot) -> None:
    """Solid and ghosts in one page; the base's way is in it, and so is the ground's."""
    messages = recorded(static_scene(go2, clip_of(go2, "raw", "corrected"), fps=5.0))
    moves = [m for time, m in messages if time > 0 and m["type"] == "SetPositionMessage"]
    ways: dict[str, list[float]] = {}
    for move in moves:
        ways.setdefault(move["name"], []).append(move["position"][0])
    root = Rig(go2).links.index(go2.root)
    assert ways["/ground"][-1] == pytest.approx(-FAR, abs=0.2)
    assert ways[f"/ground/robot_0/{root}"][-1] == pytest.approx(FAR, abs=0.2)
    assert ways[f"/ground/robot_1/{root}"][-1] == pytest.approx(FAR / 2, abs=0.2)
