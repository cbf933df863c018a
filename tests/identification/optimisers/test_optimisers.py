"""The other optimisers find what Gauss-Newton finds, survive divergence, say what they refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import GaplessError, MissingExtraError, NameMismatchError, SimulationError
from gapless.identification.optimisers import cma_es as cma_module
from gapless.identification.optimisers import gradient_descent as gradient_module
from gapless.identification.optimisers.cma_es import cma_es
from gapless.identification.optimisers.gauss_newton import Iterate, gauss_newton
from gapless.identification.optimisers.gradient_descent import gradient
from gapless.identification.optimisers.grid import grid
from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import windows_of
from gapless.motions.excitation import multisine
from gapless.parameters import apply, parameters_of
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record

ARM = """
<mujoco model="arm"><worldbody>
  <body name="base"><geom size="0.02" mass="1"/>
    <body name="upper" pos="0 0 0.1">
      <joint name="lift" axis="0 1 0" range="-90 90" armature="0.02" damping="0.2"/>
      <geom type="box" size="0.15 0.03 0.02" pos="0.15 0 0" mass="0.8"/>
      <body name="fore" pos="0.3 0 0">
        <joint name="bend" axis="0 1 0" range="-90 90" armature="0.02" damping="0.2"/>
        <geom type="box" size="0.1 0.02 0.02" pos="0.1 0 0" mass="0.4"/>
      </body>
    </body>
  </body>
</worldbody><actuator>
  <position name="lift" joint="lift" kp="30" kv="2"/>
  <position name="bend" joint="bend" kp="20" kv="1"/>
</actuator></mujoco>
"""
NAMES = ("mass/fore", "kp/lift")
ON_GRID = (1.05, 0.95)
"""Truth as shares of the nominal figures."""


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """Two joints that lift two links."""
    path: Path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    return Robot.from_mjcf(path)


@pytest.fixture(scope="module")
def clip(arm: Robot) -> Recording:
    """What a heavier, weaker arm did."""
    parameters = parameters_of(arm, NAMES)
    values = [share * p.prior for p, share in zip(parameters, ON_GRID, strict=True)]
    hidden, _ = apply(arm, Effects(), parameters, values)
    world = world_of(hidden)
    return record(world, multisine(arm, 4.0, 50, seed=0), "clip", start=world.home())


def world_of(robot: Robot, effects: Effects | None = None) -> MujocoWorld:
    """A world of one size of steps."""
    return MujocoWorld(robot, 50.0, physics_step=0.005, effects=effects)


@pytest.fixture
def problem(arm: Robot, clip: Recording) -> Problem:
    """Two unknowns, no priors."""
    return asked(arm, clip)


def asked(arm: Robot, clip: Recording, names: tuple[str, ...] = NAMES, **options) -> Problem:
    """The problem of a clip."""
    effects = options.pop("effects", None)
    options = {"loss": "squared", "prior_weight": 0.0} | options
    windows = windows_of([clip], arm, 1.0, smooth=False)
    return Problem(world_of(arm, effects), parameters_of(arm, names), windows, **options)


def shares(problem: Problem, found: Iterate) -> np.ndarray:
    """The values found, as shares of the nominal ones."""
    return problem.values(found.z) / [p.prior for p in problem.parameters]


def test_cma_finds_the_minimum_of_gauss_newton(problem: Problem) -> None:
    """Both reach the truth; the same seed gives the same answer."""
    truth = gauss_newton(problem, np.zeros(2))
    found = [cma_es(problem, np.zeros(2), iterations=25, seed=3) for _ in range(2)]
    np.testing.assert_array_equal(found[0].z, found[1].z)
    np.testing.assert_allclose(shares(problem, truth), ON_GRID, atol=1e-3)
    np.testing.assert_allclose(shares(problem, found[0]), ON_GRID, atol=2e-3)
    assert found[0].history == sorted(found[0].history, reverse=True)


def test_cma_leaves_global_chance_alone_and_keeps_to_the_bounds(
    arm: Robot, clip: Recording
) -> None:
    """A truth outside the bounds is met at the bound."""
    tight = parameters_of(arm, NAMES, bounds={"kp/lift": (28.9, 31.0)})
    problem = Problem(world_of(arm), tight, windows_of([clip], arm, 1.0), prior_weight=0.0)
    np.random.seed(0)
    expected = np.random.RandomState(0).random_sample()
    found = cma_es(problem, np.zeros(2), iterations=20)
    assert np.random.random_sample() == expected
    assert problem.values(found.z)[1] == pytest.approx(28.9, abs=0.02)


def test_cma_survives_costs_that_are_no_numbers(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates whose cost is NaN lose; the rest go on."""
    own = problem.costs_of
    monkeypatch.setattr(
        problem, "costs_of", lambda z, r: np.where(z[:, 0] < -0.2, np.nan, own(z, r))
    )
    found = cma_es(problem, np.zeros(2), iterations=25)
    np.testing.assert_allclose(shares(problem, found), ON_GRID, atol=5e-3)


def test_cma_refuses(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """A population that cannot evolve, and a package that is not there."""
    with pytest.raises(GaplessError, match="population 1"):
        cma_es(problem, np.zeros(2), population=1)
    monkeypatch.setattr(cma_module, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"gapless\[cma\]"):
        cma_es(problem, np.zeros(2))


def test_grid_finds_a_truth_on_the_grid(problem: Problem) -> None:
    """ASAP's levels are 5 % apart, and so is the truth; it stops when nothing changes."""
    found = grid(problem, np.zeros(2), sweeps=10)
    np.testing.assert_allclose(shares(problem, found), ON_GRID, rtol=1e-9)
    assert found.cost <= gauss_newton(problem, np.zeros(2)).cost + 1e-6
    assert found.iteration < 10


def test_grid_widens_only_when_asked(arm: Robot, clip: Recording) -> None:
    """Around the prior it ends at the last level; around the best point it goes on."""
    problem = asked(arm, clip)
    steps = {"mass": 0.02, "kp": 0.025}
    near = grid(problem, np.zeros(2), steps=steps)
    far = grid(problem, np.zeros(2), steps=steps, sweeps=8, widen=True)
    assert np.abs(shares(problem, near) - 1).max() <= 0.025 + 1e-9
    np.testing.assert_allclose(shares(problem, far), ON_GRID, atol=0.015)


def test_grid_has_levels_for_every_kind(arm: Robot, clip: Recording) -> None:
    """Kinds that ASAP does not vary move by a quarter of their spread; unknown ones are refused."""
    problem = asked(arm, clip, ("damping/bend", "com_x/fore", "kp@all"))
    found = grid(problem, np.zeros(3), sweeps=1)
    quarter = 0.25 * problem.parameters[0].prior_std
    moved = problem.values(found.z) - [p.prior for p in problem.parameters]
    assert min(abs(abs(moved[0]) - quarter), abs(moved[0])) < 1e-9
    assert min(abs(abs(moved[1]) - 0.02), abs(moved[1])) < 1e-9
    with pytest.raises(NameMismatchError, match="mass"):
        grid(problem, np.zeros(3), steps={"mas": 0.1})
    with pytest.raises(GaplessError, match="above 0"):
        grid(problem, np.zeros(3), steps={"mass": 0.0})


@pytest.mark.slow
def test_gradient_finds_the_minimum_of_gauss_newton(arm: Robot, clip: Recording) -> None:
    """By exact slopes, of a tied figure and with priors too."""
    pytest.importorskip("jax")
    problem = asked(arm, clip, ("mass/fore", "kp@all"), prior_weight=1.0)
    truth = gauss_newton(problem, np.zeros(2), tolerance=1e-6)
    found = gradient(problem, np.zeros(2), iterations=100)
    assert found.cost == pytest.approx(truth.cost, abs=0.5)  # half a unit is one sigma
    np.testing.assert_allclose(found.z, truth.z, atol=0.02)


def by_differences(problem: Problem) -> gradient_module.Slope:
    """Cost and slope without JAX."""

    def at(z: np.ndarray) -> tuple[float, np.ndarray]:
        linear = problem.linearised(z)
        return float(problem.costs(z[None])[0]), linear.scores.sum(axis=0)

    return at


def test_halo_descends(arm: Robot, clip: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first step is its learning rate times the slope of the mean squared error."""
    monkeypatch.setattr(gradient_module, "_slope", by_differences)
    problem = asked(arm, clip, ("mass/fore", "com_x/fore"))
    found = gradient(problem, np.zeros(2), iterations=2, halo=True)
    spread = np.array([p.prior_std for p in problem.parameters])
    slope = problem.linearised(np.zeros(2)).scores.sum(axis=0) / spread
    loss_slope = 2 * slope * problem.noise**2 / len(problem.windows)
    moved = problem.values(found.z) - [p.prior for p in problem.parameters]
    np.testing.assert_allclose(moved, -np.array([0.03, 2e-4]) * loss_slope, rtol=0.02)
    with pytest.raises(GaplessError, match=r"no learning rate for kp/lift"):
        gradient(asked(arm, clip), np.zeros(2), halo=True)


def test_gradient_goes_back_from_a_divergence(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond a wall nothing can be simulated: the steps shrink and the best point is kept."""

    def walled(z: np.ndarray) -> tuple[float, np.ndarray]:
        if z[0] > 0.5:
            raise SimulationError("window 0 diverged")
        return float(0.5 * ((z - 0.45) ** 2).sum()), z - 0.45

    monkeypatch.setattr(gradient_module, "_slope", lambda _: walled)
    found = gradient(problem, np.zeros(2), iterations=100, rate=0.3)
    np.testing.assert_allclose(found.z, 0.45, atol=0.05)
    with pytest.raises(SimulationError, match="cannot go on"):
        gradient(problem, np.array([0.6, 0.0]))


@pytest.mark.parametrize(
    ("names", "options", "match"),
    [
        (("encoder_bias/lift",), {}, "no slope for encoder_bias, only for mass"),
        (NAMES, {"objective": "bodies"}, "only 'joints'"),
        (NAMES, {"loss": "huber"}, "only 'squared'"),
        (NAMES, {"effects": Effects(delay=0.01)}, "effects"),
    ],
)
def test_gradient_says_what_it_cannot_do(
    arm: Robot, clip: Recording, names: tuple[str, ...], options: dict, match: str
) -> None:
    """Each refusal names its reason and what to use instead."""
    problem = asked(arm, clip, names, **options)
    with pytest.raises(GaplessError, match=match) as refusal:
        gradient(problem, np.zeros(len(names)))
    assert "gauss-newton" in str(refusal.value)


def test_gradient_refuses_recordings_it_cannot_play(arm: Robot, clip: Recording) -> None:
    """Loads that a link's mass would swallow, stated gains, commanded torques."""
    loaded = replace(clip, conditions=Conditions(payloads={"fore": Payload(0.1)}))
    stated = replace(clip, conditions=Conditions(gains={"lift": (30.0, 2.0)}))
    pushed = replace(clip, channels=clip.channels | {"torque_ff": np.ones_like(clip.q)})
    for bad, match in ((loaded, "fore carries"), (stated, "state the gains"), (pushed, "beside")):
        with pytest.raises(GaplessError, match=match):
            gradient(asked(arm, bad), np.zeros(2))
