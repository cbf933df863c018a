"""The shape of the floor: part of the model and its identity, and kept wherever a floor goes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from gapless.errors import ModelError
from gapless.parameters.applying import apply
from gapless.parameters.parameter_names import parameters_of
from gapless.robots import Floor, Robot
from gapless.robots.build import STEPS
from gapless.robots.rewrite import Rewriter
from gapless.robots.saved import load_robot, save_robot
from gapless.worlds import Effects

SHAPED = Floor(0.8, 0.03, slope=0.1, slope_heading=0.5, step_height=0.12, step_depth=0.25)


@pytest.fixture(scope="module")
def dog() -> Robot:
    """A Go2 on a level floor."""
    return Robot.load("go2", mount="free")


def written(model: mujoco.MjModel) -> bytes:
    """All of a model."""
    held = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, held)
    return held.tobytes()


def test_a_level_floor_is_one_plane(dog: Robot) -> None:
    """Whatever the figures of slopes and steps that are not there, the model is the same bytes."""
    other = dog.with_floor(Floor(slope_heading=1.0, step_depth=0.5))
    assert written(other.model()) == written(dog.model())
    assert other.fingerprint() == dog.fingerprint()
    plane = dog.model().geom("floor")
    np.testing.assert_array_equal([*plane.pos, *plane.quat], [0, 0, 0, 1, 0, 0, 0])
    assert not np.signbit(plane.quat).any()
    assert Floor().figures == {"friction": 1.0, "softness": 0.02}


@pytest.mark.parametrize(
    "floor",
    [
        Floor(slope=0.1),
        Floor(slope=0.1, slope_heading=0.5),
        Floor(step_height=0.1),
        Floor(step_height=0.1, step_depth=0.4),
    ],
)
def test_a_shape_is_part_of_the_identity(dog: Robot, floor: Floor) -> None:
    """Each figure changes the fingerprint."""
    others = [Floor(), Floor(slope=0.2), Floor(step_height=0.2)]
    prints = {dog.with_floor(f).fingerprint() for f in (floor, *others)}
    assert len(prints) == 4


def test_steps_rise_one_by_one(dog: Robot) -> None:
    """Their tops, seen along the slope's own axes."""
    model = dog.with_floor(Floor(step_height=0.12, step_depth=0.25)).model()
    for k in range(STEPS):
        step = model.geom(f"floor_step_{k + 1}")
        assert step.pos[2] + step.size[2] == pytest.approx((k + 1) * 0.12)
        assert step.pos[0] - step.size[0] == pytest.approx(0.5 + k * 0.25)
        assert 2 * step.size[1] == 4.0


def test_a_home_on_a_slope_is_upright_and_touches(dog: Robot) -> None:
    """The base is raised until nothing is inside the floor, also where its height was given."""
    for slope in (-0.2, 0.2):
        sloped = dog.with_floor(Floor(slope=slope))
        assert sloped.standing_height > dog.standing_height + 0.01
    arm = Robot.load("so101", mount="free")
    assert arm.height is not None
    assert arm.with_floor(Floor(slope=0.2)).standing_height >= arm.standing_height


def test_a_shaped_floor_is_saved(dog: Robot, tmp_path: Path) -> None:
    """And a robot that was saved before floors had a shape stands on a level one."""
    save_robot(dog.with_floor(SHAPED), tmp_path / "robot")
    assert load_robot(tmp_path / "robot").floor == SHAPED
    file = tmp_path / "robot" / "robot.json"
    data = json.loads(file.read_text())
    floor = data["robot"]["floor"]
    data["robot"]["floor"] = {k: floor[k] for k in ("=", "friction", "softness")}
    file.write_text(json.dumps(data))
    assert load_robot(tmp_path / "robot").floor == Floor(0.8, 0.03)


def test_another_friction_keeps_the_shape(dog: Robot) -> None:
    """As a parameter sets it."""
    robot = dog.with_floor(SHAPED)
    found, _ = apply(robot, Effects(), parameters_of(robot, "floor_friction"), [0.4])
    assert found.floor == replace(SHAPED, friction=0.4)


def test_rewritten_figures_reach_every_step(dog: Robot) -> None:
    """A rewritten model is the compiled one; another shape must be compiled."""
    rewriter = Rewriter(dog.with_floor(SHAPED))
    grippy = dog.with_floor(Floor(0.5, 0.05, **SHAPED.shape))
    assert written(rewriter.model(grippy)) == written(grippy.model())
    with pytest.raises(ModelError, match="shape of the floor"):
        rewriter.model(dog)


@pytest.mark.parametrize(
    "figures",
    [
        {"slope": 1.2},
        {"slope": np.nan},
        {"slope_heading": np.inf},
        {"step_height": -0.1},
        {"step_depth": 0.0},
    ],
)
def test_impossible_shapes_are_refused(figures: dict[str, float]) -> None:
    """Walls, holes and steps without depth."""
    with pytest.raises(ModelError, match="is no floor"):
        Floor(**figures)
