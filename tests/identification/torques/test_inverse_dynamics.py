"""Link inertias from torques: recovered where torque can be formed, refused where it cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.identification.torques import inverse_dynamics
from gapless.identification.torques.inverse_dynamics import inertias_from_torque
from gapless.motions.excitation import multisine
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.robots.inertia import Inertia
from gapless.robots.payload import Payload
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

LINKS = ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")
LOADS = ((6.0, (0.03, 0.0, 0.0)), (2.4, (0.02, 0.0, 0.0)), (2.4, (0.0, 0.0, 0.02)))
"""Added mass, and its place from the link's own centre."""

Truth = dict[str, Inertia]


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A G1 with its left foot clamped and ordinary gains."""
    return Robot.load("g1", mount="left_foot")


@pytest.fixture(scope="module")
def truth(g1: Robot) -> Truth:
    """Torso and hands, each with a mass added off its centre."""
    own = {link: g1.inertia(link) for link in LINKS}
    return {
        link: own[link].plus(mass, np.array(own[link].com) + at)
        for link, (mass, at) in zip(LINKS, LOADS, strict=True)
    }


@pytest.fixture(scope="module")
def clips(g1: Robot, truth: Truth) -> list[Recording]:
    """Three motions of the loaded robot: positions, commands and torques."""
    return played(g1.with_inertias(truth), seconds=8.0, count=3)


def played(robot: Robot, *, seconds: float, count: int) -> list[Recording]:
    """Multisines of every joint; the last, fast ones reach limits."""
    world = MujocoWorld(robot)
    return [
        record(world, multisine(robot, seconds, 50, seed=s), f"m{s}", start=world.home())
        for s in range(count)
    ]


def bare(clips: list[Recording], noise: float = 0.0) -> list[Recording]:
    """Encoders and commands only."""
    rng = np.random.default_rng(0)
    return [replace(c, q=c.q + noise * rng.normal(size=c.q.shape), channels={}) for c in clips]


def assert_near(found: Truth, truth: Truth, mass: float, com: float) -> None:
    """Masses within a share, centres within metres."""
    for link, inertia in truth.items():
        assert abs(found[link].mass / inertia.mass - 1) < mass, link
        np.testing.assert_allclose(found[link].com, inertia.com, atol=com)


def test_torso_and_hands_are_recovered_from_encoders(
    g1: Robot, truth: Truth, clips: list[Recording]
) -> None:
    """Without noise: masses to 1 %, centres to 2 mm, though the robot hits its limits."""
    assert_near(inertias_from_torque(bare(clips), g1, LINKS), truth, mass=0.01, com=2e-3)


@pytest.mark.parametrize(("noise", "mass", "com"), [(1e-4, 0.01, 2e-3), (1e-3, 0.03, 5e-3)])
def test_encoder_noise_hardly_matters(
    g1: Robot, truth: Truth, clips: list[Recording], noise: float, mass: float, com: float
) -> None:
    """A milliradian of noise leaves masses to 3 % and centres to 5 mm."""
    assert_near(inertias_from_torque(bare(clips, noise), g1, LINKS), truth, mass, com)


def test_logged_torque_is_preferred_to_the_gains(
    g1: Robot, truth: Truth, clips: list[Recording]
) -> None:
    """With a torque channel the robot's own gains may be wrong."""
    weak = g1.with_joints(kp=0.7 * g1.joints.kp, kd=0.7 * g1.joints.kd)
    assert_near(inertias_from_torque(clips, weak, LINKS), truth, mass=0.02, com=4e-3)
    without = [replace(c, target=None) for c in clips[:2]]
    assert_near(inertias_from_torque(without, g1, LINKS), truth, mass=0.02, com=4e-3)


def test_own_robot_gives_its_own_figures(arms: Robot) -> None:
    """A robot that differs in nothing is found so, moments included."""
    links = ("left_elbow_link", "right_wrist_yaw_link")
    found = inertias_from_torque(bare(played(arms, seconds=4.0, count=2)), arms, links)
    for link in links:
        own = arms.inertia(link)
        assert abs(found[link].mass / own.mass - 1) < 0.01
        np.testing.assert_allclose(found[link].com, own.com, atol=3e-3)
        np.testing.assert_allclose(found[link].moments, own.moments, atol=3e-4)


def test_friction_damping_and_effort_limits_are_accounted_for(so101: Robot) -> None:
    """With dry and viscous friction and motors at their limits the load is still found."""
    rough = so101.with_joints(frictionloss=0.05, damping=0.1, effort=1.5)
    link = so101.links[-2]
    heavy = rough.inertia(link).plus(0.1, np.array([0.0, 0.02, 0.0]))
    clips = bare(played(rough.with_inertias({link: heavy}), seconds=8.0, count=2))
    found = inertias_from_torque(clips, rough, [link])[link]
    assert abs(found.mass / heavy.mass - 1) < 0.05


def test_stated_loads_are_known_and_not_part_of_the_link(g1: Robot) -> None:
    """The hand is found without the payload that the conditions state."""
    link, loads = LINKS[1], {LINKS[1]: Payload(2.0)}
    world = MujocoWorld(g1)
    clip = record(
        world,
        multisine(g1, 8.0, 50, seed=0),
        "loaded",
        start=world.home(),
        conditions=Conditions(payloads=loads),
    )
    found = inertias_from_torque(bare([clip]), g1, [link])[link]
    assert abs(found.mass - g1.inertia(link).mass) < 0.05


def test_what_does_not_move_stays_at_its_own_figures(g1: Robot, clips: list[Recording]) -> None:
    """The clamped foot carries no torque to any joint."""
    foot = g1.mount
    found = inertias_from_torque(bare(clips[:1]), g1, [foot])[foot]
    own = g1.inertia(foot)
    assert found.mass == pytest.approx(own.mass)
    np.testing.assert_allclose(found.com, own.com, atol=1e-12)


def test_pieces_and_whole_give_one_result(
    g1: Robot, clips: list[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long recording is worked on in pieces; the edges of a piece cost nothing."""
    whole = inertias_from_torque(bare(clips[:1]), g1, LINKS[:1])["torso_link"]
    monkeypatch.setattr(inverse_dynamics, "PIECE", 90)
    pieces = inertias_from_torque(bare(clips[:1]), g1, LINKS[:1])["torso_link"]
    assert pieces.mass == pytest.approx(whole.mass, rel=0.01)


def test_masked_samples_are_never_used(g1: Robot, truth: Truth, clips: list[Recording]) -> None:
    """Nonsense under the mask changes little; a joint masked throughout is left out."""
    spoilt = []
    for clip in bare(clips[:2]):
        q, mask = clip.q.copy(), clip.mask.copy()
        q[100:110], mask[100:110] = 3.0, False
        mask[:, g1.joints.index("right_elbow_joint")] = False
        spoilt.append(replace(clip, q=q, mask=mask))
    assert_near(inertias_from_torque(spoilt, g1, LINKS), truth, mass=0.02, com=4e-3)


def test_the_result_is_always_a_body(g1: Robot, clips: list[Recording]) -> None:
    """Commands that have nothing to do with the motion still give valid inertias."""
    rng = np.random.default_rng(0)
    wild = [replace(c, target=c.target + rng.normal(0, 1, c.q.shape)) for c in bare(clips[:1])]
    found = inertias_from_torque(wild, g1, LINKS, spread=100.0)
    assert all(inertia.mass > 0 for inertia in found.values())
    assert g1.with_inertias(found).model().nbody > 1


def test_a_free_robot_is_refused(g1: Robot, clips: list[Recording]) -> None:
    """Without a clamp the base's acceleration is missing; the error says what to type."""
    with pytest.raises(DataError, match=r"acceleration of the base.*with_mount"):
        inertias_from_torque(clips, g1.with_mount("free"), LINKS)


def test_wrong_arguments_are_refused(g1: Robot, clips: list[Recording]) -> None:
    """Unknown links, no torque at all, recordings that are too short, impossible figures."""
    with pytest.raises(NameMismatchError, match="torso_link"):
        inertias_from_torque(clips, g1, ["torso"])
    with pytest.raises(DataError, match="name at least one, and each once"):
        inertias_from_torque(clips, g1, [])
    with pytest.raises(DataError, match="neither commands nor a torque"):
        inertias_from_torque([replace(clips[0], target=None, channels={})], g1, LINKS)
    with pytest.raises(DataError, match="long enough"):
        inertias_from_torque([clips[0].clip(0, 20)], g1, LINKS)
    with pytest.raises(DataError, match="cutoff is 40"):
        inertias_from_torque(clips, g1, LINKS, cutoff=40)
    with pytest.raises(DataError, match="spread is 0"):
        inertias_from_torque(clips, g1, LINKS, spread=0)
