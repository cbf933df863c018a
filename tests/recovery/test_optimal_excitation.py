"""Recovery: the D-optimal motion tells more about a robot than a chirp of equal length."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gapless.motions.motion import Motion
from gapless.motions.optimal import optimal
from gapless.worlds import MujocoWorld

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "optimal_excitation.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """The benchmark's own fit and chirps."""
    spec = importlib.util.spec_from_file_location("optimal_excitation", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def best_chirp(benchmark: ModuleType, world: MujocoWorld, seconds: float) -> Motion:
    """The chirp that promises the smallest errors."""
    parameters = benchmark.unknowns(world.robot, benchmark.ABOUT)
    chirps = benchmark.fair_chirps(world, seconds)
    errors = [benchmark.prediction(world, parameters, chirp)[0] for chirp in chirps]
    return chirps[int(np.argmin([benchmark.geometric_mean(e) for e in errors]))]


@pytest.mark.slow
def test_the_optimal_motion_promises_more_than_the_best_chirp(benchmark: ModuleType) -> None:
    """A larger determinant of the information, and smaller predicted errors."""
    robot = benchmark.so101_pair()
    world, parameters = MujocoWorld(robot), benchmark.unknowns(robot, benchmark.ABOUT)
    best = optimal(robot, 5.0, about=benchmark.ABOUT, candidates=24, rounds=4)
    rival = best_chirp(benchmark, world, 5.0)
    (errors, told), (rival_errors, rival_told) = (
        benchmark.prediction(world, parameters, motion) for motion in (best, rival)
    )
    assert told > rival_told
    assert benchmark.geometric_mean(errors) < 0.95 * benchmark.geometric_mean(rival_errors)


def test_dry_friction_is_recovered_from_three_seconds(benchmark: ModuleType) -> None:
    """Twice the nominal friction is found, as exactly as the motion promises."""
    robot = benchmark.so101_pair()
    world, parameters = MujocoWorld(robot), benchmark.unknowns(robot, benchmark.ABOUT)
    motion = benchmark.chirp(robot, 3.0, amplitude=0.3, band=(0.5, 3.0), together=True)
    errors = benchmark.actual_errors(world, parameters, motion, units=1)
    dry = [p.kind == "frictionloss" for p in parameters]
    assert (errors < 3 * benchmark.prediction(world, parameters, motion)[0]).all()
    assert (errors[dry] < 0.03 * robot.joints.frictionloss).all()


@pytest.mark.slow
def test_hidden_robots_are_identified_better(benchmark: ModuleType) -> None:
    """On six hidden units the actual errors are smaller too, and of the size predicted."""
    robot = benchmark.so101_pair()
    world, parameters = MujocoWorld(robot), benchmark.unknowns(robot, benchmark.ABOUT)
    best = optimal(robot, 8.0, about=benchmark.ABOUT)
    actual, predicted = {}, {}
    for name, motion in (("optimal", best), ("chirp", best_chirp(benchmark, world, 8.0))):
        found = benchmark.actual_errors(world, parameters, motion, units=6)
        actual[name] = benchmark.geometric_mean(found)
        predicted[name] = benchmark.geometric_mean(
            benchmark.prediction(world, parameters, motion)[0]
        )
        assert 0.5 < actual[name] / predicted[name] < 2
    assert predicted["optimal"] < 0.9 * predicted["chirp"]
    assert actual["optimal"] < 0.95 * actual["chirp"]
