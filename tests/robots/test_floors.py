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
from gapless.robots.rotations import rotate
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
        {"height": np.inf},
    ],
)
def test_impossible_shapes_are_refused(figures: dict[str, float]) -> None:
    """Walls, holes and steps without depth."""
    with pytest.raises(ModelError, match="is no floor"):
        Floor(**figures)


def test_a_held_robot_meets_no_floor_unless_its_height_is_stated(so101: Robot) -> None:
    """Then it is part of the model and of the identity."""
    names = {so101.model().geom(i).name for i in range(so101.model().ngeom)}
    assert not so101.meets_floor and "floor" not in names
    plain = so101.with_floor(Floor(height=-0.05))
    tilted = so101.with_floor(Floor(height=-0.05).tilted(0.02, 0.01))
    assert len({r.fingerprint() for r in (so101, plain, tilted)}) == 3
    assert plain.meets_floor
    np.testing.assert_allclose(plain.model().geom("floor").pos, [0, 0, -0.05])


def test_a_height_is_along_the_held_links_own_axis() -> None:
    """From its origin, wherever the link is in the world."""
    g1 = Robot.load("g1", mount="left_foot")
    model = g1.with_floor(Floor(height=-0.04)).model()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    foot = data.body(g1.mount)
    np.testing.assert_allclose(
        model.geom("floor").pos, foot.xpos - 0.04 * foot.xmat.reshape(3, 3)[:, 2], atol=1e-12
    )


def test_a_tilt_is_two_slopes() -> None:
    """Rising along x and along y."""
    floor = Floor(height=0.1).tilted(0.03, -0.04)
    assert floor.slope == pytest.approx(0.05) and floor.tilt == pytest.approx((0.03, -0.04))
    normal = rotate(floor.quat_wxyz, np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(-normal[:2] / normal[2], [0.03, -0.04], rtol=2e-3)


def test_a_moved_plane_is_written_as_if_compiled(so101: Robot) -> None:
    """All that decides contacts; a floor that was not there must be compiled."""
    low, high = Floor(height=-1.0), Floor(0.3, 0.01, height=-0.05).tilted(0.1, -0.05)
    rewritten = Rewriter(so101.with_floor(low)).model(so101.with_floor(high))
    compiled = so101.with_floor(high).model()
    for field in ("geom_pos", "geom_quat", "geom_friction", "geom_solref"):
        np.testing.assert_array_equal(getattr(rewritten, field), getattr(compiled, field))
    with pytest.raises(ModelError, match="shape of the floor"):
        Rewriter(so101).model(so101.with_floor(high))


def test_soles_move_the_shapes_of_their_link_only() -> None:
    """And the robot stands as much higher; they are part of its identity."""
    g1 = Robot.load("g1", mount="free")
    feet = dict.fromkeys(g1.link_groups["feet"], (0.01, -0.02))
    other = g1.with_soles(feet)
    assert other.fingerprint() != g1.fingerprint()
    assert other.standing_height == pytest.approx(g1.standing_height + 0.02, abs=2e-3)
    before, now = g1.model(), other.model()
    change = now.geom_pos - before.geom_pos
    moved = np.abs(change).max(axis=1) > 1e-9
    assert {now.body(body).name for body in now.geom_bodyid[moved]} == set(feet)
    np.testing.assert_allclose(change[moved], np.tile([0.01, 0.0, -0.02], (moved.sum(), 1)))
    np.testing.assert_array_equal(Rewriter(g1).model(other).geom_pos, now.geom_pos)


def test_soles_stated_by_their_ends_move_too(tmp_path: Path) -> None:
    """A capsule from one point to another."""
    text = """<mujoco><worldbody><body name="foot"><freejoint/>
    <geom type="capsule" fromto="-.1 0 0 .1 0 0" size=".02"/><body name="toe">
    <joint name="bend" axis="0 1 0"/><geom size=".02" pos=".15 0 0"/></body></body></worldbody>
    <actuator><position joint="bend" kp="5"/></actuator></mujoco>"""
    (tmp_path / "foot.xml").write_text(text)
    foot = Robot.from_mjcf(tmp_path / "foot.xml").with_soles({"foot": (0.03, -0.01)})
    capsule = foot.model().body("foot").geomadr[0]
    np.testing.assert_allclose(foot.model().geom_pos[capsule], [0.03, 0.0, -0.01], atol=1e-12)
