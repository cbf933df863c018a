"""Contracts inside ONNX files, as mjlab and BeyondMimic write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from policy_samples import JOINTS, states
from scipy.spatial.transform import Rotation

import small_networks as nets
from gapless.errors import DataError, FormatError
from gapless.policies import Policy, PolicyContract

MJLAB = {
    "run_path": "local",
    "joint_names": "hip,knee,ankle",
    "joint_stiffness": "40.179,99.098,28.501",
    "joint_damping": "2.558,6.309,1.814",
    "default_joint_pos": "-0.100,0.300,-0.200",
    "command_names": "twist",
    "observation_names": "base_ang_vel,projected_gravity,joint_pos,joint_vel,actions,command",
    "observation_terms_scale": "0.25,1.0,1.0,0.050;0.060;0.070,1.0,2.0;2.0;0.25",
    "observation_terms_clip": "-inf;inf,-inf;inf,-inf;inf,-20.000;20.000,-inf;inf,-1.000;inf",
    "observation_terms_history_length": "5.000,0.000,0.000,1.000,0.000,0.000",
    "action_scale": "0.548,0.351,0.439",
}
WIDTH = 5 * 3 + 5 * 3
TRACKER = {
    key: MJLAB[key]
    for key in ("joint_names", "joint_stiffness", "joint_damping", "default_joint_pos")
} | {
    "observation_names": "command,motion_anchor_pos_b,motion_anchor_ori_b,base_lin_vel,"
    "base_ang_vel,joint_pos,joint_vel,actions",
    "observation_history_lengths": ",".join(["1.000"] * 8),
    "command_names": "motion",
    "action_scale": "0.5",
    "anchor_body_name": "torso_link",
    "body_names": "pelvis,torso_link",
}
TRACKED = 6 + 3 + 6 + 3 + 3 + 3 + 3 + 3


def loaded(folder: Path, metadata: dict[str, str], width: int = WIDTH, **options: object) -> Policy:
    """A network that carries this."""
    path = nets.linear(folder / "walk.onnx", nets.drawn(width, 3), metadata=metadata, **options)  # type: ignore[arg-type]
    return Policy.load(path)


def contract_of(folder: Path, **changes: str) -> PolicyContract:
    """mjlab's contract, changed."""
    return loaded(folder, MJLAB | changes).contract


def test_mjlab_says_joints_pose_gains_and_scales(tmp_path: Path) -> None:
    """Comma by comma; the name is the file's."""
    contract = contract_of(tmp_path)
    assert (contract.name, contract.joints) == ("walk", JOINTS)
    assert contract.gains["knee"] == (99.098, 6.309)
    assert contract.pose.tolist() == [-0.1, 0.3, -0.2]
    assert contract.action.scale == (0.548, 0.351, 0.439)


def test_mjlab_says_scales_clips_and_histories_of_terms(tmp_path: Path) -> None:
    """One number or one a column; no bound; a history of none is the present alone."""
    contract = contract_of(tmp_path)
    kinds = [t.kind for t in contract.terms.values()]
    assert kinds[2:] == ["joint_pos_rel", "joint_vel", "last_action", "command"]
    assert contract.terms["joint_vel"].scale == (0.05, 0.06, 0.07)
    assert contract.terms["joint_vel"].clip == (-20.0, 20.0)
    assert contract.terms["command"].clip == (-1.0, np.inf)
    assert contract.terms["base_ang_vel"].clip is None
    assert [b.frames for b in contract.blocks] == [5, 1, 1, 1, 1, 1]
    assert contract.width == WIDTH


def test_what_is_assumed_is_noted(tmp_path: Path) -> None:
    """Rate and ranges of commands are not in such files."""
    contract = contract_of(tmp_path)
    assert contract.rate == 50.0 and contract.commands["velocity"].upper == (1.0, 1.0, 1.0)
    assert "rate; 50 Hz is taken" in contract.notes[0] and "range" in contract.notes[1]


@pytest.mark.parametrize(("key", "value"), [("step_dt", "0.01"), ("control_frequency", "100")])
def test_a_rate_that_is_said_counts(key: str, value: str, tmp_path: Path) -> None:
    """And needs no note."""
    contract = contract_of(tmp_path, **{key: value})
    assert contract.rate == pytest.approx(100.0)
    assert not any("rate" in note for note in contract.notes)


def test_lists_may_be_written_as_json_or_python(tmp_path: Path) -> None:
    """Brackets and quotes are dropped."""
    plain = contract_of(tmp_path)
    listed = contract_of(
        tmp_path,
        joint_names='["hip", "knee", "ankle"]',
        default_joint_pos="[-0.1, 0.3, -0.2]",
        action_scale="(0.548, 0.351, 0.439)",
    )
    assert listed == plain


def test_beyondmimic_says_histories_under_another_name(tmp_path: Path) -> None:
    """observation_history_lengths, where mjlab has observation_terms_history_length."""
    metadata = {k: v for k, v in MJLAB.items() if k != "observation_terms_history_length"}
    metadata["observation_history_lengths"] = "1.000,1.000,5.000,1.000,1.000,1.000"
    contract = loaded(tmp_path, metadata).contract
    assert [b.frames for b in contract.blocks] == [1, 1, 5, 1, 1, 1]


def test_such_a_policy_acts(tmp_path: Path) -> None:
    """Metadata alone, many environments."""
    controller = loaded(tmp_path, MJLAB).start(JOINTS, np.zeros(3), 4)
    first = controller.act(states(4), {"velocity": np.zeros((4, 3))})
    assert controller.observation.shape == (4, WIDTH)
    assert first.shape == (4, 3) and np.ptp(first, axis=0).min() > 0


def tracker(folder: Path, frames: int = 30, **changes: str) -> tuple[Policy, dict[str, np.ndarray]]:
    """BeyondMimic's network with the motion that it holds."""
    motion = nets.drawn_motion(frames, joints=3, bodies=2)
    path = nets.tracker(folder / "kick.onnx", TRACKED, motion, TRACKER | changes)
    return Policy.load(path), motion


def test_the_motion_in_a_network_is_the_reference(tmp_path: Path) -> None:
    """All frames of it; the anchor is found among its bodies."""
    policy, motion = tracker(tmp_path)
    reference = policy.reference
    assert reference is not None and len(reference) == 30
    np.testing.assert_allclose(reference.frames.joint_pos, motion["joint_pos"], atol=1e-6)
    np.testing.assert_allclose(reference.frames.joint_vel, motion["joint_vel"], atol=1e-6)
    torso = motion["body_pos_w"][:, 1], motion["body_quat_w"][:, 1]
    np.testing.assert_allclose(reference.frames.anchor_pos_w, torso[0], atol=1e-6)
    np.testing.assert_allclose(reference.frames.anchor_quat_w, torso[1], atol=1e-6)
    assert policy.contract.tracks and policy.reference is reference


def test_a_tracker_sees_the_motion_at_its_own_step(tmp_path: Path) -> None:
    """Positions, velocities, and the anchor as it is seen from the robot's."""
    policy, motion = tracker(tmp_path)
    controller, now = policy.start(JOINTS, np.zeros(3), 2), states(2)
    for step in range(3):
        controller.act(now, {})
        seen = controller.observation
        both = np.concatenate([motion["joint_pos"][step], motion["joint_vel"][step]])
        np.testing.assert_allclose(seen[:, :6], np.tile(both, (2, 1)), atol=1e-6)
    own = Rotation.from_quat(now.base_quat_wxyz, scalar_first=True).inv()
    way = own.apply(motion["body_pos_w"][2, 1] - now.base_pos)
    np.testing.assert_allclose(seen[:, 6:9], way, atol=1e-6)


def test_an_anchor_that_is_found_by_the_world_counts(tmp_path: Path) -> None:
    """The torso is not the root: whoever runs the policy says where it is."""
    policy, motion = tracker(tmp_path)
    place = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    controller = policy.start(JOINTS, np.zeros(3), anchor=lambda readings: place)
    controller.act(states(1), {})
    expected = motion["body_pos_w"][0, 1] - place[0][0]
    np.testing.assert_allclose(controller.observation[0, 6:9], expected, atol=1e-6)


def test_an_anchor_among_no_bodies_is_refused(tmp_path: Path) -> None:
    """With the bodies that there are."""
    policy, _ = tracker(tmp_path, anchor_body_name="head")
    with pytest.raises(DataError, match="anchor 'head' is not among the bodies pelvis, torso_link"):
        _ = policy.reference


def test_a_tracker_whose_network_lacks_the_motion_is_refused(tmp_path: Path) -> None:
    """It must come from a file, which only a policy.toml can name."""
    with pytest.raises(DataError, match=r"'command' needs motion\.file"):
        loaded(tmp_path, TRACKER, TRACKED)


def test_missing_keys_are_listed_at_once(tmp_path: Path) -> None:
    """With both ways to mend it."""
    with pytest.raises(FormatError) as caught:
        loaded(tmp_path, {"joint_names": "hip,knee,ankle", "joint_damping": "1,1,1"})
    told = "lack joint_stiffness, default_joint_pos, observation_names, action_scale"
    assert told in str(caught.value) and "policy.toml" in str(caught.value)


BROKEN = {
    "words": ({"joint_stiffness": "a,b,c"}, "joint_stiffness is no list of numbers"),
    "a word as scale": ({"observation_terms_scale": "None,1,1,1,1,1"}, "do not read as a contract"),
    "half a clip": ({"observation_terms_clip": "1,1,1,1,1,1"}, "do not read as a contract"),
    "few scales": ({"observation_terms_scale": "1,1"}, "have 2 values .*; expected 6"),
    "few gains": ({"joint_stiffness": "1,2"}, "kp has 2 numbers; expected 3"),
    "short pose": ({"default_joint_pos": "1,2"}, "default says nothing of ankle"),
    "unknown term": (
        {"observation_names": "height_scan"},
        r"not known here: height_scan.*extends = 'metadata'",
    ),
    "no time": ({"step_dt": "0"}, "do not read as a contract"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_told(case: str, tmp_path: Path) -> None:
    """By the key, never by a traceback of the reader."""
    changes, told = BROKEN[case]
    metadata = MJLAB | changes
    if case == "unknown term":
        metadata = {k: v for k, v in metadata.items() if not k.startswith("observation_terms")}
    with pytest.raises((FormatError, DataError), match=told):
        loaded(tmp_path, metadata)


def test_a_width_that_disagrees_is_told(tmp_path: Path) -> None:
    """Metadata of another network."""
    with pytest.raises(DataError, match=r"the contract builds 30 numbers .*the network takes 31"):
        loaded(tmp_path, MJLAB, WIDTH + 1)
