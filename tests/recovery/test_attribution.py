"""Recovery: a world with one injected cause has that cause ranked first."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.measurement import attribute
from gapless.motions.excitation import multisine
from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record

NOISE = 2e-4
"""Encoder noise of the recordings, rad."""


def recorded(world: MujocoWorld) -> list[Recording]:
    """Two noisy motions of a world; the log says nothing of what is different."""
    rng = np.random.default_rng(7)
    clips = []
    for seed in range(2):
        clip = record(
            world, multisine(world.robot, 6.0, 50, seed=seed), f"m{seed}", start=world.home()
        )
        noisy = clip.q + rng.normal(0, NOISE, clip.q.shape)
        clips.append(
            Recording(clip.name, clip.joints, 50.0, noisy, clip.target, clip.mask, clip.channels)
        )
    return clips


def injected(cause: str, robot: Robot) -> MujocoWorld:
    """The robot with one thing wrong."""
    joints = robot.joints
    hands = {point.body: Payload(2.0) for point in robot.end_effectors}
    return {
        "gravity/payload": lambda: MujocoWorld(robot.with_payloads(hands)),
        "dry friction": lambda: MujocoWorld(robot.with_joints(frictionloss=0.04 * joints.effort)),
        "viscous friction": lambda: MujocoWorld(robot.with_joints(damping=0.5 * joints.kd)),
        "gain error": lambda: MujocoWorld(robot.with_joints(kp=0.7 * joints.kp)),
        "delay": lambda: MujocoWorld(robot, effects=Effects(delay=0.04)),
        "backlash": lambda: MujocoWorld(robot, effects=Effects(backlash=np.deg2rad(2.0))),
    }[cause]()


@pytest.mark.parametrize(
    ("cause", "size"),
    [
        ("gravity/payload", None),  # sizes of loads belong to links: see the test below
        ("dry friction", lambda joints: 0.04 * joints.effort),
        ("viscous friction", lambda joints: 0.5 * joints.kd),
        ("gain error", lambda joints: 0.3),
        ("delay", lambda joints: 0.04),
        ("backlash", lambda joints: np.deg2rad(2.0)),
    ],
)
def test_injected_cause_is_ranked_first(arms: Robot, cause: str, size) -> None:
    """The cause explains most of the error; its size comes back to 15 % (median over joints)."""
    found = attribute(recorded(injected(cause, arms)), MujocoWorld(arms), max_windows=60)
    assert found.ranking[0] == cause
    assert found.overall[cause] > 0.8
    if size is not None:
        column = found.causes.index(cause)
        heavy = found.weight > 0.03
        ratio = found.amplitude[:, column] / size(arms.joints)
        assert np.median(ratio[heavy]) == pytest.approx(1.0, abs=0.15)


def test_loads_come_back_on_the_links_that_carry_them(arms: Robot) -> None:
    """Two kilograms in the left hand only are found there, and not in the right."""
    left, right = (point.body for point in arms.end_effectors)
    world = MujocoWorld(arms.with_payloads({left: Payload(2.0)}))
    found = attribute(recorded(world), MujocoWorld(arms), max_windows=60)
    assert found.ranking[0] == "gravity/payload"
    assert found.loads[left] == pytest.approx(2.0, rel=0.05)
    assert found.loads.get(right, 0.0) < 0.1


def test_shares_and_remainder_sum_to_one(arms: Robot) -> None:
    """What no cause explains is said."""
    found = attribute(recorded(injected("delay", arms)), MujocoWorld(arms), max_windows=20)
    np.testing.assert_allclose(found.share.sum(axis=1) + found.unexplained, 1.0)
    assert sum(found.overall.values()) == pytest.approx(1.0)


def test_a_perfect_simulator_has_nothing_to_attribute(arms: Robot, clips: list[Recording]) -> None:
    """Noise-free recordings of the nominal world leave no error, and no cause is invented."""
    found = attribute(clips, MujocoWorld(arms), max_windows=20)
    assert np.abs(np.nan_to_num(found.amplitude)).max() < 1e-3
