"""Unitree's `deploy.yaml`: joints by number, gains by motor, and tags that would run code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import small_networks as nets
from gapless.errors import DataError, FormatError
from gapless.policies import Policy
from gapless.policies.deploy_yaml import read_deploy
from gapless.policies.policy_contract import PolicyContract
from gapless.robots import Robot

EVIL = "!!python/object/apply:os.system"
RANGES = {"lin_vel_x": [-0.5, 1.0], "lin_vel_y": [-0.3, 0.3], "ang_vel_z": [-0.2, 0.2]}
G1_23 = [0, 6, 12, 1, 7, 15, 22, 2, 8, 16, 23, 3, 9, 17, 24, 4, 10, 18, 25, 5, 11, 19, 26]
"""Unitree's own G1 of 23 joints: motors of the one of 29 joints, six of which are not there."""
GO2 = [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]
"""Legs from left to right, of motors that are numbered from right to left."""


def seen(scale: Any = None, **more: Any) -> dict[str, Any]:
    """An entry of the observations."""
    return {"params": {}, "clip": None, "scale": scale, "history_length": 1} | more


def deploy(count: int = 3, **changes: Any) -> dict[str, Any]:
    """The fields of a file of so many joints."""
    return {
        "joint_ids_map": list(range(count)),
        "step_dt": 0.02,
        "stiffness": [10.0 * (i + 1) for i in range(count)],
        "damping": [i + 1.0 for i in range(count)],
        "default_joint_pos": [0.01 * i for i in range(count)],
        "commands": {"base_velocity": {"ranges": RANGES}},
        "actions": {
            "JointPositionAction": {
                "clip": None,
                "scale": [0.25] * count,
                "offset": [0.01 * i for i in range(count)],
                "joint_ids": None,
            }
        },
        "observations": {"base_ang_vel": seen([0.2] * 3), "joint_pos_rel": seen()},
    } | changes


def acts(count: int, **changes: Any) -> dict[str, Any]:
    """The actions of a file, changed."""
    entry = deploy(count)["actions"]["JointPositionAction"]
    return {"actions": {"JointPositionAction": entry | changes}}


@pytest.fixture
def arm() -> Robot:
    """A robot of three motors."""
    return Robot.load("so101", mount="fixed", lock=["wrist_flex", "wrist_roll", "gripper"])


def contract_of(folder: Path, data: dict[str, Any] | str, robot: Robot | None) -> PolicyContract:
    """The contract of these fields, or of this text."""
    path = folder / "deploy.yaml"
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data, sort_keys=False))
    return read_deploy(path, robot)


def test_gains_are_by_motor_and_the_pose_by_joint_of_the_policy(arm: Robot, tmp_path: Path) -> None:
    """Policy joint i is motor joint_ids_map[i]: gains move with it, pose and scale do not."""
    scale = [0.1, 0.2, 0.3]
    data = deploy(joint_ids_map=[2, 0, 1], **acts(3, scale=scale))
    contract = contract_of(tmp_path, data, arm)
    assert contract.joints == ("elbow_flex", "shoulder_pan", "shoulder_lift")
    assert (contract.kp, contract.kd) == ((30.0, 10.0, 20.0), (3.0, 1.0, 2.0))
    assert contract.pose.tolist() == [0.0, 0.01, 0.02]
    assert contract.action.scale == tuple(scale) and contract.action.offset == (0.0, 0.01, 0.02)
    assert contract.rate == pytest.approx(50.0)
    assert (contract.robot, contract.notes) == (arm.name, ())


def test_terms_keep_their_order_scales_clips_and_frames(arm: Robot, tmp_path: Path) -> None:
    """Isaac Lab's history: term by term, oldest first, the first repeated."""
    terms = {
        "velocity_commands": seen([2.0, 2.0, 0.25], params={"command_name": "base_velocity"}),
        "joint_vel_rel": seen(0.05, history_length=5, clip=[-10.0, 10.0]),
        "last_action": seen(),
    }
    contract = contract_of(tmp_path, deploy(observations=terms), arm)
    assert [t.kind for t in contract.terms.values()] == ["command", "joint_vel", "last_action"]
    assert [b.frames for b in contract.blocks] == [1, 5, 1]
    assert all((b.by, b.newest, b.present) == ("term", "last", True) for b in contract.blocks)
    assert contract.terms["joint_vel_rel"].clip == (-10.0, 10.0)
    assert contract.commands["velocity"].upper == (1.0, 0.3, 0.2)
    assert contract.width == 3 + 5 * 3 + 3


def test_gym_history_lays_moment_by_moment(arm: Robot, tmp_path: Path) -> None:
    """One block by frames, where all terms have as many."""
    terms = {
        "use_gym_history": True,
        "base_ang_vel": seen(history_length=4),
        "last_action": seen(history_length=4),
    }
    contract = contract_of(tmp_path, deploy(observations=terms), arm)
    (block,) = contract.blocks
    assert (block.terms, block.frames, block.by) == (("base_ang_vel", "last_action"), 4, "frame")


def test_a_clip_after_the_scale_is_one_before_it(arm: Robot, tmp_path: Path) -> None:
    """scale_first: 18 after a scale of 0.2 is 90 before; scales that differ are refused."""
    terms = {"scale_first": True, "base_ang_vel": seen([0.2] * 3, clip=[-18.0, 18.0])}
    contract = contract_of(tmp_path, deploy(observations=terms), arm)
    assert contract.terms["base_ang_vel"].clip == pytest.approx((-90.0, 90.0))
    terms["base_ang_vel"]["scale"] = [0.2, 0.3, 0.2]
    with pytest.raises(FormatError, match="base_ang_vel is clipped after scales that differ"):
        contract_of(tmp_path, deploy(observations=terms), arm)


def test_terms_may_stand_in_the_group_of_their_input(arm: Robot, tmp_path: Path) -> None:
    """One group, or that of the policy; others are told."""
    terms, more = {"base_ang_vel": seen()}, {"depth": {"depth_image": seen()}}
    for groups in ({"any": terms}, {"critic": {"base_height": seen()}, "policy": terms}):
        assert contract_of(tmp_path, deploy(observations=groups), arm).width == 3
    with pytest.raises(FormatError, match="groups any, depth; one is known"):
        contract_of(tmp_path, deploy(observations={"any": terms} | more), arm)


@pytest.mark.parametrize(("key", "name"), [("period", "gait_phase"), ("cycle_time", "phase")])
def test_a_gait_clock_is_known(key: str, name: str, arm: Robot, tmp_path: Path) -> None:
    """Sine and cosine; still below 0.1 where it looks at a command."""
    plain = {name: seen(params={key: 0.8})}
    contract = contract_of(tmp_path, deploy(observations=plain), arm)
    assert contract.terms[name].kind == "gait_sin_cos" and contract.width == 2
    assert contract.terms[name].options == {"period": 0.8}
    looks = {name: seen(params={key: 0.8, "command_name": "base_velocity"})}
    contract = contract_of(tmp_path, deploy(observations=looks), arm)
    assert contract.terms[name].options == {"period": 0.8, "still_below": 0.1}


def test_some_joints_are_moved_and_all_are_seen(arm: Robot, tmp_path: Path) -> None:
    """joint_ids of the action: the others are held at the default pose."""
    terms = {
        "joint_pos_rel": seen(),
        "joint_vel_rel": seen(params={"asset_cfg": {"joint_ids": [2, 0]}}),
        "last_action": seen(),
    }
    changes = acts(3, joint_ids=[2, 0], scale=[0.1, 0.2], offset=[0.0, 0.0])
    contract = contract_of(tmp_path, deploy(observations=terms, **changes), arm)
    assert contract.joints == ("elbow_flex", "shoulder_pan")
    assert (contract.kp, contract.hold) == ((30.0, 10.0), {"shoulder_lift": 0.01})
    assert contract.terms["joint_pos_rel"].joints == arm.joints.names
    assert contract.terms["joint_vel_rel"].joints == ()  # those that are moved
    assert contract.width == 3 + 2 + 2


def test_targets_may_be_limited(arm: Robot, tmp_path: Path) -> None:
    """Unitree clips what is commanded, not what the network says."""
    pairs = [[-1.0, 1.0], [-2.0, 2.0], [-3.0, 3.0]]
    action = contract_of(tmp_path, deploy(**acts(3, clip=pairs)), arm).action
    assert (action.clip, action.limits) == (None, ((-1.0, 1.0), (-2.0, 2.0), (-3.0, 3.0)))


def test_a_go2_is_wired_from_right_to_left(tmp_path: Path) -> None:
    """Motor 0 of Unitree's is the front right hip: legs must not be swapped."""
    pose = [-0.1, 0.9, -1.8, 0.1, 0.9, -1.8] * 2
    data = deploy(12, joint_ids_map=GO2, default_joint_pos=pose)
    contract = contract_of(tmp_path, data, None)
    assert contract.joints == Robot.load("go2").joints.names
    assert contract.joints[0] == "FL_hip_joint" and contract.kp[0] == 40.0  # that of motor 3
    assert "its 12 are taken for those of go2" in contract.notes[0]


def test_a_g1_of_23_joints_has_the_motors_of_one_of_29(tmp_path: Path) -> None:
    """As in Unitree's own file: numbers up to 26, 23 gains."""
    contract = contract_of(tmp_path, deploy(23, joint_ids_map=G1_23), None)
    names = Robot.load("g1").joints.names
    assert contract.robot == "g1"
    assert contract.joints == tuple(names[i] for i in G1_23)
    gains = contract.gains
    assert gains["left_hip_pitch_joint"][0] == 10.0 and gains["waist_yaw_joint"][0] == 130.0
    assert gains["left_shoulder_pitch_joint"][0] == 140.0  # motor 15, the 14th that is there
    assert gains["right_wrist_roll_joint"][0] == 230.0


def test_a_pose_that_the_guessed_robot_cannot_take_is_refused(tmp_path: Path) -> None:
    """Twelve joints of a humanoid's legs are no Go2; told whose, they are read."""
    pose = [-0.1, 0.0, 0.0, 0.3, -0.2, 0.0] * 2
    data = deploy(12, default_joint_pos=pose)
    with pytest.raises(FormatError, match=r"as go2 has, .* cannot stand at .*--robot"):
        contract_of(tmp_path, data, None)
    robot = Robot.load("g1")
    assert contract_of(tmp_path, data, robot).joints == robot.joints.names[:12]


def test_joints_of_nobody_are_asked_for(arm: Robot, tmp_path: Path) -> None:
    """A number of joints that no robot has, or motors that this one has not."""
    with pytest.raises(FormatError, match="5 joints without names; say whose: --robot"):
        contract_of(tmp_path, deploy(5), None)
    with pytest.raises(FormatError, match=r"motors 0 to 4, so101.* has 3"):
        contract_of(tmp_path, deploy(3, joint_ids_map=[0, 1, 4]), arm)


def test_joints_may_be_named(arm: Robot, tmp_path: Path) -> None:
    """Gains are then in the same order; Isaac Lab's physics step and decimation say the rate."""
    names = list(reversed(arm.joints.names))
    data = deploy(joint_ids_map=names, stiffness=[1, 2, 3], damping=[4, 5, 6])
    del data["step_dt"]
    contract = contract_of(tmp_path, data | {"sim_dt": 0.005, "decimation": 2}, arm)
    assert (list(contract.joints), contract.rate) == (names, 100.0)
    assert (contract.kp, contract.kd) == ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    with pytest.raises(FormatError, match="names joints; say of which robot: --robot"):
        contract_of(tmp_path, data | {"step_dt": 0.02}, None)


def test_what_a_deploy_yaml_leaves_unsaid_is_added(arm: Robot, tmp_path: Path) -> None:
    """An observation of somebody's own, and a rate."""
    data = deploy(observations={"joint_pos_rel": seen(), "wind": seen()})
    (tmp_path / "deploy.yaml").write_text(yaml.safe_dump(data))
    nets.constant(tmp_path / "policy.onnx", 5, (0.0,) * 3)
    with pytest.raises(DataError, match=r"here: wind\..* \[terms.wind\].*extends = 'deploy.yaml'"):
        Policy.load(tmp_path, arm)
    (tmp_path / "policy.toml").write_text(
        "network = 'policy.onnx'\nextends = 'deploy.yaml'\nrate = 25\n"
        "[terms.wind]\nkind = 'constant'\nvalue = [1, 2]"
    )
    contract = Policy.load(tmp_path, arm).contract
    assert (contract.rate, contract.width, contract.robot) == (25.0, 5, arm.name)


def test_the_name_is_that_of_the_run(arm: Robot, tmp_path: Path) -> None:
    """Not of the folder of its parameters."""
    folder = tmp_path / "walk" / "params"
    folder.mkdir(parents=True)
    assert contract_of(folder, deploy(), arm).name == "walk"
    assert contract_of(folder.parent, deploy(), arm).name == "walk"


def tagged(text: str, field: str, tag: str) -> str:
    """The same file with a tag where a field had its value."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{field}:"))
    indent = len(lines[at]) - len(lines[at].lstrip())
    end = at + 1
    while end < len(lines) and (
        len(lines[end]) - len(lines[end].lstrip()) > indent or lines[end].lstrip().startswith("- ")
    ):
        end += 1
    return "\n".join([*lines[:at], f"{' ' * indent}{field}: {tag}", *lines[end:]])


def test_a_tag_in_a_field_that_is_not_needed_is_skipped_and_not_run(
    arm: Robot, tmp_path: Path
) -> None:
    """Its field is noted; what it would have made is not there."""
    proof = tmp_path / "ran"
    text = yaml.safe_dump(deploy(**acts(3)), sort_keys=False)
    text += f"extra: {EVIL} ['touch {proof}']\n"
    contract = contract_of(tmp_path, text, arm)
    assert not proof.exists()
    (note,) = contract.notes
    assert note.startswith("extra has the tag") and note.endswith("skipped, not run")


def test_a_tag_in_parameters_of_a_term_is_skipped(arm: Robot, tmp_path: Path) -> None:
    """Isaac Lab's own objects stand there; nothing of them is needed."""
    text = yaml.safe_dump(deploy(), sort_keys=False)
    tag = "!!python/object:isaaclab.managers.SceneEntityCfg {name: robot}"
    contract = contract_of(tmp_path, tagged(text, "params", f"{{asset_cfg: {tag}}}"), arm)
    assert contract.width == 6
    assert "observations.base_ang_vel.params.asset_cfg" in contract.notes[0]


@pytest.mark.parametrize(
    "field",
    [
        *("stiffness", "damping", "joint_ids_map", "step_dt", "default_joint_pos"),
        *("actions", "JointPositionAction", "offset", "base_ang_vel", "history_length"),
    ],
)
def test_a_tag_in_a_field_that_is_needed_is_refused_by_name(
    field: str, arm: Robot, tmp_path: Path
) -> None:
    """And not run either."""
    proof = tmp_path / "ran"
    text = yaml.safe_dump(deploy(), sort_keys=False)
    evil = tagged(text, field, f"{EVIL} ['touch {proof}']")
    with pytest.raises(FormatError, match=rf"{field} is needed, but its tag .*os.system"):
        contract_of(tmp_path, evil, arm)
    assert not proof.exists()


def test_aliases_are_refused(tmp_path: Path) -> None:
    """Ten lines of them are gigabytes: a billion laughs."""
    lines = ["a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    for new, old in zip("bcdefghi", "abcdefgh", strict=True):
        lines.append(f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]")
    with pytest.raises(FormatError, match="uses YAML aliases; write the values out"):
        contract_of(tmp_path, "\n".join(lines), None)


BROKEN = {
    "no YAML": ("a: [1, 2", "no valid YAML"),
    "no table": ("- 1\n- 2", "expected a table of fields"),
    "no date": ("x: 2020-99-99", "no valid YAML"),
    "nearly empty": ("step_dt: 0.02", "lacks joint_ids_map, stiffness, damping, default_joint_pos"),
    "too deep": ("[" * 5000, "deeper than 50"),
    "other actions": (deploy(actions={"JointVelocityAction": {}}), "only JointPositionAction"),
    "short pose": (deploy(default_joint_pos=[0.0]), "default_joint_pos has 1 numbers; expected 3"),
    "short gains": (deploy(damping=[1.0]), "damping must have a number for each motor"),
    "short scales": (deploy(**acts(3, scale=[1.0, 2.0])), "has 2 scales and 3 offsets"),
    "no scale": (deploy(**acts(3, scale=None)), "lacks scale"),
    "no step": (deploy(step_dt=0), "does not read as a deploy.yaml"),
    "words": (deploy(joint_ids_map=["a", "b", "c"]), "joint_ids_map names a, b, c, not on so101"),
    "a list of terms": (deploy(observations=[1]), "does not read as a deploy.yaml"),
    "unknown term": (
        deploy(observations={"joint_pos_re": seen()}),
        r"not known here: joint_pos_re\. Did you mean 'joint_pos_rel'.*\[terms.joint_pos_re\]",
    ),
    "no ranges": (deploy(commands={"v": {"ranges": {}}}), "commands must have ranges lin_vel_x"),
    "no period": (deploy(observations={"phase": seen()}), "'phase' needs period"),
    "no command": (
        deploy(observations={"velocity_commands": seen()}, commands={}),
        r"'velocity_commands' needs \[commands.velocity\]",
    ),
    "a motion": (deploy(observations={"motion_command": seen()}), "needs motion.file"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_told(case: str, arm: Robot, tmp_path: Path) -> None:
    """By the field, never by a traceback of the reader."""
    data, told = BROKEN[case]
    with pytest.raises((FormatError, DataError), match=told):
        contract_of(tmp_path, data, arm)


def test_numbers_are_read_as_written(arm: Robot, tmp_path: Path) -> None:
    """YAML takes 1e-3 for a word; it is a number here."""
    text = yaml.safe_dump(deploy()).replace("step_dt: 0.02", "step_dt: 1e-2")
    assert contract_of(tmp_path, text, arm).rate == pytest.approx(100.0)
    assert np.isfinite(contract_of(tmp_path, deploy(), arm).kp).all()
