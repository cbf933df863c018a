"""The loss in JAX moves as MuJoCo does, and its gradient is exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, MissingExtraError, ModelError, SimulationError, unknown
from gapless.identification.differentiable import loss as loss_module
from gapless.identification.differentiable.loss import ReplayLoss
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import State

pytest.importorskip("jax")

ARM = """
<mujoco model="arm">
  <worldbody>
    <body name="base" pos="0 0 0.5">
      <geom size="0.02" mass="1"/>
      <body name="upper" pos="0.1 0 0" euler="0 20 30">
        <joint name="pan" axis="0 0.6 0.8" pos="0.02 0 0.01" ref="10" range="-90 90"
               armature="0.02" damping="0.1" frictionloss="0.2"/>
        <joint name="lift" axis="0 1 0" range="-60 20" armature="0.02" frictionloss="0.3"/>
        <geom type="box" size="0.15 0.03 0.02" pos="0.15 0 0" mass="0.8"/>
        <body name="bracket" pos="0.3 0 0" euler="40 0 0">
          <geom type="box" size="0.02 0.03 0.05" mass="0.2"/>
          <body name="tool" pos="0 0 0.05">
            <joint name="reach" type="slide" axis="1 0 0" range="-0.2 0.2" armature="0.1"/>
            <geom type="box" size="0.05 0.02 0.03" pos="0.03 0.01 0" mass="0.4"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="pan" kp="30" kv="1" forcerange="-6 6"/>
    <position joint="lift" kp="40" kv="1.5" forcerange="-9 9"/>
    <position joint="reach" kp="200" kv="8"/>
  </actuator>
</mujoco>
"""
NAMES = (
    *("mass/tool", "com_x/tool", "com_y/upper", "com_z/bracket", "kp/lift", "kd/pan"),
    *("armature/lift", "damping/reach", "frictionloss/pan", "frictionloss/lift"),
)


def nominal(robot: Robot, names: tuple[str, ...]) -> np.ndarray:
    """The robot's own value of each parameter."""
    values = []
    for name in names:
        kind, owner = name.split("/")
        if kind == "mass":
            values.append(robot.inertia(owner).mass)
        elif kind.startswith("com"):
            values.append(robot.inertia(owner).com["xyz".index(kind[-1])])
        else:
            values.append(getattr(robot.joints, kind)[robot.joints.index(owner)])
    return np.array(values)


def windows(robot: Robot, environments: int, steps: int, reach: float) -> tuple[np.ndarray, ...]:
    """Starts, velocities and sinusoidal targets about the default pose."""
    rng, joints = np.random.default_rng(3), len(robot.joints.names)
    q = robot.joints.default + 0.1 * rng.normal(size=(environments, joints))
    dq = 0.3 * rng.normal(size=(environments, joints))
    time, phase = np.arange(steps)[:, None] / 50, rng.uniform(0, 6, (environments, 1, joints))
    return q, dq, q[:, None] + reach * (np.sin(9 * time + phase) - np.sin(phase))


def make(robot: Robot, names: tuple[str, ...], reach: float, environments: int = 2) -> tuple:
    """A loss whose recording is the robot's own rollout, and that rollout."""
    world = MujocoWorld(robot, 50.0, physics_step=0.004, threads=1)
    q, dq, targets = windows(robot, environments, 25, reach)
    real = world.rollout(State(q, dq), targets).q[:, 1:]
    timing = {"rate": 50.0, "substeps": world.substeps, "physics_step": world.timestep}
    weight = np.random.default_rng(4).uniform(0.5, 2, real.shape)
    return ReplayLoss(robot, names, q, dq, targets, real, weight, **timing), real, weight


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """An arm with two joints on one link, a welded link and a slide."""
    path: Path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return Robot.from_mjcf(path)


@pytest.fixture(scope="module")
def arm(robot: Robot) -> tuple:
    """A loss of that arm under targets that meet limits of position and of effort."""
    return make(robot, NAMES, 0.5, environments=9)


def test_friction_limits_and_clipping_are_those_of_mujoco(robot: Robot, arm: tuple) -> None:
    """Against MujocoWorld's own rollout nothing is left: every error is below 1e-9 rad."""
    loss, real, _ = arm
    assert (real > robot.joints.upper).any() or (real < robot.joints.lower).any()
    assert loss(nominal(robot, NAMES))[0] < 0.5 * (0.5 * 1e-9) ** 2


def test_positions_are_those_of_mujoco_on_so101() -> None:
    """A robot of the tables, without dry friction, over half a second."""
    robot = Robot.load("so101").with_joints(frictionloss=0.0)
    loss, real, _ = make(robot, (), 0.2)
    assert np.ptp(real, axis=1).max() > 0.1
    np.testing.assert_allclose(loss.positions(np.zeros(0)), real, atol=1e-9)


def test_loss_is_half_the_weighted_square_error(robot: Robot, arm: tuple) -> None:
    """Of the rollout MuJoCo gives with these values; what fills the last block counts nothing."""
    loss, real, weight = arm
    values = nominal(robot, NAMES)
    values[NAMES.index("kp/lift")] = 25.0
    world = MujocoWorld(robot.with_joints(kp={"lift": 25.0}), 50.0, physics_step=0.004, threads=1)
    q, dq, targets = windows(robot, 9, 25, 0.5)
    error = weight * (world.rollout(State(q, dq), targets).q[:, 1:] - real)
    assert loss(values)[0] == pytest.approx(0.5 * (error**2).sum(), rel=1e-9)


def test_gradient_is_that_of_central_differences(robot: Robot, arm: tuple) -> None:
    """Every kind of parameter, while joints stick, slip, clip and meet their limits."""
    loss = arm[0]
    values = 1.1 * nominal(robot, NAMES) + 1e-3
    numeric = []
    for i in range(len(values)):
        shift = 1e-6 * (np.arange(len(values)) == i)
        numeric.append((loss(values + shift)[0] - loss(values - shift)[0]) / 2e-6)
    np.testing.assert_allclose(loss(values)[1], numeric, rtol=1e-4)


def test_divergence_names_the_window(robot: Robot, arm: tuple) -> None:
    """A mass that no body has ends in an error, not in NaN."""
    values = nominal(robot, NAMES)
    values[0] = -50.0
    with pytest.raises(SimulationError, match=r"window \d of 9 .*mass/tool = -50"):
        arm[0](values)


def test_recorded_positions_may_be_missing_where_they_weigh_nothing(robot: Robot) -> None:
    """NaN is accepted at weight 0 and refused elsewhere."""
    q, dq, targets = windows(robot, 2, 3, 0.1)
    real, weight = targets.copy(), np.ones_like(targets)
    real[1, 2, 0] = np.nan
    timing = {"rate": 50.0, "substeps": 5, "physics_step": 0.004}
    with pytest.raises(DataError, match="window 1 holds NaN"):
        ReplayLoss(robot, (), q, dq, targets, real, weight, **timing)
    weight[1, 2, 0] = 0.0
    ReplayLoss(robot, (), q, dq, targets, real, weight, **timing)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("delay/pan", "Known: mass, com_x, com_y, com_z, kp, kd"),
        ("mass/tol", "Did you mean 'tool'"),
        ("kp/pann", "Did you mean 'pan'"),
    ],
)
def test_unknown_names_are_refused(robot: Robot, name: str, said: str) -> None:
    """A kind it cannot differentiate, a link or a joint that is not there."""
    with pytest.raises(type(unknown("", "", ())), match=said):
        make(robot, (name,), 0.1)


def test_impossible_requests_are_refused(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A free base, steps that do not fit, other shapes, and an installation without JAX."""
    q, dq, targets = windows(robot, 2, 3, 0.1)
    given = (q, dq, targets, targets, targets)
    with pytest.raises(SimulationError, match="do not make a control step"):
        ReplayLoss(robot, (), *given, rate=50.0, substeps=4, physics_step=0.004)
    with pytest.raises(DataError, match="expected"):
        ReplayLoss(robot, (), q[:1], *given[1:], rate=50.0, substeps=5, physics_step=0.004)
    with pytest.raises(ModelError, match="moves freely"):
        free = robot.with_mount("free")
        ReplayLoss(free, (), *given, rate=50.0, substeps=5, physics_step=0.004)
    monkeypatch.setattr(loss_module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"gapless\[jax\]"):
        ReplayLoss(robot, (), *given, rate=50.0, substeps=5, physics_step=0.004)
