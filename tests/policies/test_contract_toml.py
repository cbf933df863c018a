"""`policy.toml`: what must be in it, what may be, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import small_networks as nets
from gapless.errors import DataError, FormatError, NameMismatchError
from gapless.policies import Policy
from gapless.policies.contract_toml import read_toml
from gapless.policies.policy_contract import PolicyContract
from gapless.robots import Robot

MINIMAL = """
network = "policy.onnx"
rate = 50
joints = ["hip", "knee"]
default = 0.1
kp = 20
kd = [1.0, 2.0]
[action]
scale = 0.25
[[observation]]
terms = ["joint_pos_rel", "base_ang_vel"]
"""
ROBOT = """
network = "policy.onnx"
robot = "g1"
rate = 50
[action]
scale = 0.25
[[observation]]
terms = ["joint_pos_rel"]
"""


def written(folder: Path, text: str) -> Path:
    """A contract in a folder."""
    path = folder / "policy.toml"
    path.write_text(text)
    return path


def contract_of(folder: Path, text: str) -> PolicyContract:
    """The contract of a text."""
    return read_toml(written(folder, text))[0]


def test_a_minimal_contract_is_enough_to_act(tmp_path: Path) -> None:
    """Rate, joints, pose, gains, scale, what is seen, and a network beside it."""
    nets.constant(tmp_path / "policy.onnx", 5, (1.0, 2.0))
    policy = Policy.load(written(tmp_path, MINIMAL))
    contract = policy.contract
    assert (contract.rate, contract.joints) == (50.0, ("hip", "knee"))
    assert (contract.kp, contract.kd) == ((20.0, 20.0), (1.0, 2.0))
    assert contract.name == tmp_path.name
    controller = policy.start(("hip", "knee"), np.zeros(2))
    np.testing.assert_allclose(controller.targets, [[0.1, 0.1]])


def test_everything_can_be_said(tmp_path: Path) -> None:
    """Every table and key of the format arrives in the contract."""
    text = """
        format = "gapless policy 1"
        name = "walk"
        rate = 100
        physics_step = 0.002
        joints = ["hip", "knee"]
        default = [0.1, 0.2]
        kp = 1
        kd = 2
        hold = { waist = 0.3 }
        clip = 100
        notes = ["by hand"]
        [network]
        file = "net.onnx"
        observation = "x"
        action = "y"
        states = { h = "hn" }
        [action]
        meaning = "increment"
        scale = [0.1, 0.2]
        offset = 0.5
        clip = [-1, 2]
        limits = [[-1, 1], [-2, 2]]
        [commands.velocity]
        lower = [-1, 0, -1]
        upper = [1, 0, 1]
        [motion]
        seconds = 3.5
        anchor = "torso"
        bodies = ["pelvis", "torso"]
        [terms.clock]
        kind = "gait_sin"
        period = 0.8
        offsets = [0, 0.5]
        [terms.command]
        scale = [2, 2, 0.25]
        clip = 5
        [terms.q]
        kind = "joint_pos"
        joints = ["knee"]
        [[observation]]
        terms = ["clock", "command", "q"]
        frames = 3
        by = "frame"
        newest = "first"
        present = false
        fill = "zeros"
        """
    contract, network = read_toml(written(tmp_path, text))
    assert network == tmp_path / "net.onnx"
    assert (contract.name, contract.rate, contract.physics_step) == ("walk", 100.0, 0.002)
    assert (contract.hold, contract.clip) == ({"waist": 0.3}, (-100.0, 100.0))
    assert contract.ports.states == {"h": "hn"} and contract.ports.observation == "x"
    action = contract.action
    assert (action.meaning, action.scale, action.offset) == ("increment", (0.1, 0.2), (0.5, 0.5))
    assert (action.clip, action.limits) == ((-1.0, 2.0), ((-1.0, 1.0), (-2.0, 2.0)))
    assert contract.commands["velocity"].names == ("vx", "vy", "wz")
    assert (contract.motion_seconds, contract.anchor) == (3.5, "torso")
    assert contract.terms["command"].scale == (2.0, 2.0, 0.25)
    assert contract.terms["q"].joints == ("knee",)
    block = contract.blocks[0]
    assert (block.frames, block.by, block.newest) == (3, "frame", "first")
    assert (block.present, block.fill) == (False, "zeros")
    assert contract.width == 3 * (2 + 3 + 1)


def test_a_robot_lends_joints_pose_and_gains(tmp_path: Path) -> None:
    """Where the contract does not say them."""
    contract, robot = contract_of(tmp_path, ROBOT), Robot.load("g1")
    assert contract.joints == robot.joints.names
    np.testing.assert_array_equal(contract.pose, robot.joints.default)
    np.testing.assert_array_equal(contract.kp, robot.joints.kp)
    np.testing.assert_array_equal(contract.kd, robot.joints.kd)


def test_a_robot_lends_those_of_some_joints(tmp_path: Path) -> None:
    """Twelve of 29, in the order of the policy; poses of the others are known too."""
    joints = ["right_knee_joint", "left_hip_pitch_joint"]
    contract = contract_of(tmp_path, ROBOT.replace("rate", f"joints = {joints}\nrate"))
    robot = Robot.load("g1")
    columns = robot.joints.pick(joints)
    np.testing.assert_array_equal(contract.kp, robot.joints.kp[columns])
    np.testing.assert_array_equal(contract.pose, robot.joints.default[columns])
    assert set(contract.default) == set(robot.joints.names)


def test_patterns_of_names_give_numbers_to_joints(tmp_path: Path) -> None:
    """The last that fits counts; the robot's own where none does."""
    text = ROBOT.replace(
        "rate",
        'kp = { "*" = 50, "*hip*" = 100, left_hip_yaw_joint = 7 }\nkd = { "*knee*" = 9 }\nrate',
    ).replace("scale = 0.25", 'scale = { "*" = 0.5, "*_ankle_*" = 0.1 }')
    contract, robot = contract_of(tmp_path, text), Robot.load("g1")
    gains = contract.gains
    assert gains["left_hip_yaw_joint"][0] == 7 and gains["right_hip_yaw_joint"][0] == 100
    assert gains["waist_yaw_joint"][0] == 50 and gains["left_knee_joint"] == (50, 9)
    assert gains["waist_yaw_joint"][1] == robot.joints.kd[robot.joints.index("waist_yaw_joint")]
    scale = dict(zip(contract.joints, contract.action.scale, strict=True))
    assert scale["left_ankle_roll_joint"] == 0.1 and scale["left_knee_joint"] == 0.5


FITS_NOT = {
    "a typing error": ('kp = { "*" = 5, hipp = 3 }', "kp names 'hipp', which fits no joint.*'hip'"),
    "a joint left out": ("kp = { hip = 3 }", "kp says nothing of knee"),
    "default of a joint left out": ("default = { hip = 3 }", "default says nothing of knee"),
    "a short list": ("default = [1]", "default has 1 numbers for 2 joints"),
    "words": ('kd = "stiff"', "does not read as a contract.*stiff"),
}


@pytest.mark.parametrize("case", FITS_NOT)
def test_numbers_that_fit_no_joint_are_refused(case: str, tmp_path: Path) -> None:
    """By the name that fits, or the joint that is left out."""
    line, told = FITS_NOT[case]
    key = line.split()[0]
    kept = [li for li in MINIMAL.splitlines() if not li.startswith(f"{key} =")]
    with pytest.raises(FormatError, match=told):
        contract_of(tmp_path, "\n".join([line, *kept]))


def test_joints_that_the_robot_lacks_are_named(tmp_path: Path) -> None:
    """Gains of them cannot be lent; a default of a joint it has not is a slip."""
    with pytest.raises(FormatError, match="says nothing of tail; g1 has left_hip_pitch_joint"):
        contract_of(tmp_path, ROBOT.replace("rate", 'joints = ["tail"]\nrate'))
    with pytest.raises(FormatError, match=r"default names 'left_kne_joint'.*'left_knee_joint'"):
        contract_of(tmp_path, ROBOT.replace("rate", "default = { left_kne_joint = 0.1 }\nrate"))


UNKNOWN = {
    "rat = 50\n" + MINIMAL: "'rat'.*Did you mean 'rate'",
    MINIMAL.replace("scale = 0.25", "scale = 0.25\nscales = 1"): r"\[action\].*'scales'.*'scale'",
    MINIMAL + "frame = 5": r"\[\[observation\]\] 1 has 'frame'.*'frames'",
    MINIMAL + "[terms.base_ang_vel]\nscal = 1": "'scal'.*Did you mean 'scale'",
    MINIMAL + "[motion]\nsecond = 1": r"\[motion\].*'second'.*'seconds'",
    MINIMAL + "[commands.velocity]\nlow = [1]": r"\[commands.velocity\].*'low'.*'lower'",
    MINIMAL.replace('"policy.onnx"', '{ file = "a.onnx", state = "h" }'): "'state'.*'states'",
}


@pytest.mark.parametrize("text", UNKNOWN, ids=range(len(UNKNOWN)))
def test_unknown_keys_are_refused_with_the_nearest(text: str, tmp_path: Path) -> None:
    """In every table: a slip of the pen never passes silently."""
    with pytest.raises((FormatError, DataError), match=UNKNOWN[text]):
        contract_of(tmp_path, text)


def test_missing_keys_are_listed_at_once(tmp_path: Path) -> None:
    """Those that a robot would lend, together."""
    with pytest.raises(FormatError) as caught:
        contract_of(tmp_path, 'name = "walk"')
    told = "lacks rate, observation, action, network, joints, default, kp, kd (or robot"
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MINIMAL.replace("scale = 0.25", ""), r"\[action\] lacks scale"),
        (MINIMAL + "[commands.velocity]\nlower = [1]", r"\[commands.velocity\] lacks upper"),
        (MINIMAL.replace("terms =", "# terms ="), r"\[\[observation\]\] 1 lacks terms"),
        (MINIMAL.replace("[[observation]]", "[observation]"), r"write \[\[observation\]\]"),
        (MINIMAL.replace('"policy.onnx"', "5"), "lacks network"),
        (MINIMAL.replace("50", '"fast"'), "does not read as a contract"),
        ('format = "gapless policy 9"\n' + MINIMAL, "expected 'gapless policy 1'"),
        ("rate = = 5", "is no valid TOML"),
    ],
)
def test_what_is_wrong_in_a_table_is_told(text: str, told: str, tmp_path: Path) -> None:
    """With the table that it is in."""
    with pytest.raises(FormatError, match=told):
        contract_of(tmp_path, text)


def test_unknown_robots_are_refused_with_the_known(tmp_path: Path) -> None:
    """As everywhere else."""
    with pytest.raises(NameMismatchError, match="unknown robot 'g2'"):
        contract_of(tmp_path, ROBOT.replace('"g1"', '"g2"'))


def test_widths_that_disagree_say_how_they_come_about(tmp_path: Path) -> None:
    """Term by term, and of the actions too."""
    nets.constant(tmp_path / "policy.onnx", 9, (1.0, 2.0, 3.0))
    text = MINIMAL.replace("[[obs", "[[observation]]\nterms = ['joint_vel']\nframes = 4\n[[obs")
    with pytest.raises(DataError) as caught:
        Policy.load(written(tmp_path, text))
    for told in (
        "the contract builds 13 numbers (joint_vel 2 x 4 + joint_pos_rel 2 + base_ang_vel 3), the "
        "network takes 9",
        "the contract names 2 joints, the network gives 3 actions",
    ):
        assert told in str(caught.value)


def test_a_reference_lies_beside_the_contract(tmp_path: Path) -> None:
    """Frames of an .npz at the policy's rate; the anchor by its name."""
    motion = nets.drawn_motion(frames=4, joints=2, bodies=3)
    np.savez(tmp_path / "motion.npz", **motion, fps=[50])
    nets.constant(tmp_path / "policy.onnx", 4 + 6, (1.0, 2.0))
    text = MINIMAL.replace(
        '"joint_pos_rel", "base_ang_vel"', '"reference_joints", "reference_anchor_turn"'
    )
    text += '[motion]\nfile = "motion.npz"\nanchor = "torso"\nbodies = ["pelvis", "torso", "head"]'
    reference = Policy.load(written(tmp_path, text)).reference
    assert reference is not None and len(reference) == 4
    np.testing.assert_array_equal(reference.frames.anchor_pos_w, motion["body_pos_w"][:, 1])
    late = reference.at(np.array([2, 9]))
    np.testing.assert_array_equal(late.joint_pos, motion["joint_pos"][[2, 3]])


def broken_motions() -> dict[str, tuple[dict[str, np.ndarray], str]]:
    """Files of frames that cannot be followed."""
    whole = nets.drawn_motion(frames=4, joints=2, bodies=3)
    cut = {**whole, "joint_vel": whole["joint_vel"][:2]}
    return {
        "another rate": ({**whole, "fps": np.array([30])}, "30 frames a second, the policy 50"),
        "no velocities": ({"joint_pos": whole["joint_pos"]}, "lacks joint_vel"),
        "other lengths": (cut, r"have \[2, 4\] frames"),
        "holes": ({**whole, "joint_pos": np.full((4, 2), np.nan)}, "joint_pos .* not finite"),
        "other joints": (nets.drawn_motion(4, 5, 3), r"joints of shape \(5,\); the policy moves 2"),
        "objects": ({"joint_pos": np.array([{}])}, "no .npz of plain arrays"),
    }


@pytest.mark.parametrize("case", broken_motions())
def test_references_that_cannot_be_followed_are_refused(case: str, tmp_path: Path) -> None:
    """When they are needed, with what is wrong."""
    arrays, told = broken_motions()[case]
    np.savez(tmp_path / "motion.npz", **arrays)
    nets.constant(tmp_path / "policy.onnx", 4, (1.0, 2.0))
    text = MINIMAL.replace('"joint_pos_rel", "base_ang_vel"', '"reference_joints"')
    policy = Policy.load(written(tmp_path, text + '[motion]\nfile = "motion.npz"'))
    with pytest.raises((DataError, FormatError), match=told):
        _ = policy.reference


def test_a_reference_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    """Missing, cut in two, or an .npy."""
    nets.constant(tmp_path / "policy.onnx", 4, (1.0, 2.0))
    text = MINIMAL.replace('"joint_pos_rel", "base_ang_vel"', '"reference_joints"')
    path = written(
        tmp_path, text + '[motion]\nfile = "motion.npz"\nanchor = "tail"\nbodies = ["a"]'
    )
    with pytest.raises(FormatError, match=r"motion\.npz does not exist"):
        _ = Policy.load(path).reference
    np.savez(tmp_path / "motion.npz", **nets.drawn_motion(4, 2, 3))
    with pytest.raises(DataError, match="anchor 'tail' is not among the bodies a"):
        _ = Policy.load(path).reference
    whole = (tmp_path / "motion.npz").read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"PK\x03\x04"):
        (tmp_path / "motion.npz").write_bytes(content)
        with pytest.raises(FormatError, match=r"no \.npz of plain arrays"):
            _ = Policy.load(path).reference
    with (tmp_path / "motion.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(FormatError, match=r"no \.npz of plain arrays"):
        _ = Policy.load(path).reference


def test_inputs_that_the_network_lacks_the_words_for_are_refused(tmp_path: Path) -> None:
    """A name, or a table of names."""
    for text, told in {
        "states = 'h'": r"states = 'h'; expected \{ NAME = NAME \}",
        "observation = [5]": r"observation = \[5\]; expected a name",
        "action = 3": "action = 3; expected a name",
    }.items():
        changed = MINIMAL.replace('network = "policy.onnx"', "")
        with pytest.raises(FormatError, match=told):
            contract_of(tmp_path, changed + f"[network]\nfile = 'policy.onnx'\n{text}")


def test_columns_lateness_and_a_normaliser_can_be_said(tmp_path: Path) -> None:
    """As some policies see the turn before the speed, or more than one past action."""
    text = (
        MINIMAL
        + """
        [commands.velocity]
        lower = [-1, 0, -1]
        upper = [1, 0, 1]
        [terms.turn]
        kind = "command"
        columns = [2, 0]
        [terms.earlier]
        kind = "last_action"
        ago = 1
        [[observation]]
        terms = ["turn", "earlier"]
        [normaliser]
        mean = [0, 0, 0, 0, 0, 1, 1, 1, 1]
        std = [1, 1, 1, 1, 1, 2, 2, 2, 2]
    """
    )
    contract = contract_of(tmp_path, text)
    assert contract.terms["turn"].columns == (2, 0) and contract.terms["earlier"].ago == 1
    assert contract.width == len(contract.mean) == len(contract.std) == 9
    for changed, told in {
        text.replace("[2, 0]", "[3]"): r"columns 0 to 2; columns names \(3,\)",
        text.replace("ago = 1", "ago = -1"): "ago is -1; expected control steps",
        text.replace("mean = [0,", "mean = ["): "normaliser.mean has 8 numbers; expected 9",
        text.replace("std = [1,", "std = [0,"): "std above 0",
    }.items():
        with pytest.raises((DataError, FormatError), match=told):
            contract_of(tmp_path, changed)
