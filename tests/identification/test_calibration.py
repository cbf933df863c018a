"""A Calibration: what it does to a robot, to a file and to an MJCF."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from gapless.errors import FormatError, ModelError, NameMismatchError
from gapless.identification import Calibration, IdentifySettings, identify
from gapless.motions.excitation import multisine
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from hidden_pair import STEP


@pytest.fixture(scope="module")
def found(pair: Robot, waves: list[Recording]) -> Calibration:
    """Gains, friction, a mass and a delay of the hidden robot."""
    names = ["kp", "frictionloss", "damping", "mass/lower_arm", "delay@all"]
    return identify(waves, pair, names, settings=IdentifySettings(physics_step=STEP, windows=16))


def test_a_robot_takes_its_figures(pair: Robot, found: Calibration) -> None:
    """`robot.calibrated` and `calibration.world` hold the identified values."""
    robot = pair.calibrated(found)
    world = found.world(pair, 50)
    for joint in pair.joints.names:
        column = pair.joints.index(joint)
        assert robot.joints.kp[column] == found.values[f"kp/{joint}"]
        assert world.robot.joints.kp[column] == found.values[f"kp/{joint}"]
    assert world.effects.delay[0] == found.values["delay/all"]


def test_a_file_gives_the_same_calibration_back(found: Calibration, tmp_path: Path) -> None:
    """JSON, complete; it prints the same tables."""
    found.save(tmp_path / "cal.json")
    again = Calibration.load(tmp_path / "cal.json")
    assert again.values == found.values
    assert [e.interval for e in again.estimates] == [e.interval for e in found.estimates]
    assert str(again) == str(found)


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": "gapless calibration 1"}', "{"])
def test_another_file_is_refused(text: str, tmp_path: Path) -> None:
    """Something else, or half a file, is named as such."""
    file = tmp_path / "cal.json"
    file.write_text(text)
    with pytest.raises(FormatError, match=r"cal\.json"):
        Calibration.load(file)


def test_the_mjcf_replays_as_the_calibrated_world(pair: Robot, found: Calibration) -> None:
    """Plain MuJoCo, nothing of gapless: the same positions, as far as XML keeps digits."""
    plain = found.with_values({"delay/all": 0.0})
    model = mujoco.MjModel.from_xml_string(plain.to_mjcf(pair))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    targets = multisine(pair, 1.0, 50, seed=9)
    world = plain.world(pair, 50)
    expected = world.rollout(world.home(), targets[None]).q[0, 1:]
    columns = [model.joint(name).qposadr[0] for name in pair.joints.names]
    substeps = round(1 / (50 * model.opt.timestep))
    for target, position in zip(targets, expected, strict=True):
        data.ctrl[:] = target
        for _ in range(substeps):
            mujoco.mj_step(model, data)
        np.testing.assert_allclose(data.qpos[columns], position, rtol=0, atol=1e-6)


def test_the_mjcf_says_what_it_cannot_hold(pair: Robot, found: Calibration) -> None:
    """A delay has no place in MJCF; the file names it."""
    text = found.with_values({"delay/all": 0.012}).to_mjcf(pair)
    assert "delay/all = 0.012" in text
    assert "delay" not in found.with_values({"delay/all": 0.0}).to_mjcf(pair)


def test_another_robot_is_refused(so101: Robot, pair: Robot, found: Calibration) -> None:
    """By its name, or by figures the calibration did not start from."""
    with pytest.raises(ModelError, match="made for"):
        found.apply(pair.with_joints(kp=1.0))
    with pytest.raises(ModelError, match="not of"):
        found.apply(Robot.load("g1", mount="fixed"))
    assert isinstance(so101.calibrated(found), Robot)


def test_ranges_and_samples_follow_the_intervals(found: Calibration) -> None:
    """Randomisation is as wide as what is not known; draws have the stated spread."""
    for name, (low, high) in found.ranges().items():
        assert (low, high) == pytest.approx(found[name].interval)
        wide = found.ranges(widen=2.0)[name]
        assert wide[0] <= low <= high <= wide[1]
    rng = np.random.default_rng(0)
    name = found.estimates[0].name
    drawn = [found.sample(rng).values[name] for _ in range(200)]
    assert np.std(drawn) == pytest.approx(found[name].std, rel=0.2)


def test_values_are_set_by_hand_by_name(found: Calibration) -> None:
    """A name that is not there is refused."""
    name = found.estimates[0].name
    assert found.with_values({name: 12.0}).values[name] == 12.0
    with pytest.raises(NameMismatchError, match="Did you mean"):
        found.with_values({name + "x": 1.0})


def test_tables_show_digits_the_interval_allows(found: Calibration) -> None:
    """The printed table names every parameter, what chose, and the held-out error."""
    text = str(found)
    assert all(name in text for name in found.values)
    assert "choosing motions: replay error" in text and "held-out motions: replay error" in text


def test_worlds_of_a_calibration_keep_their_options(pair: Robot, found: Calibration) -> None:
    """Rate and physics step are passed on."""
    world = found.world(pair, 100, physics_step=STEP)
    assert isinstance(world, MujocoWorld)
    assert world.rate == 100 and world.timestep == STEP


@pytest.mark.parametrize("key", ["signs", "made_by", "estimates", "correlation", "choose"])
def test_a_calibration_with_text_for_a_table_is_damaged(
    key: str, found: Calibration, tmp_path: Path
) -> None:
    """Whichever of its parts."""
    with pytest.raises(FormatError, match="is damaged"):
        Calibration.from_dict({**found.to_dict(), key: "x"})
