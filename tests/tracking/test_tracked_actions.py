"""What actions of a tracker command, and whose actions nothing here can train."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tracking_tasks import N, begun, on_course, task_of

from gapless.errors import DataError, NameMismatchError
from gapless.motions.motion_frames import MotionFrames
from gapless.policies.policy_contract import Action, PolicyCommand, PolicyContract, Term
from gapless.robots import Robot
from gapless.tracking.reference_starts import StartNoise
from gapless.tracking.tracking_contract import tracking_contract
from pendulum import swings
from standing_motion import standing_motion

MEANINGS = {
    "reference": Action("reference", (0.5,)),
    "offset": Action("offset", (0.5,)),
    "offset of its own": Action("offset", (0.5,), offset=(0.3,)),
    "absolute": Action("absolute", (0.5,)),
    "increment": Action("increment", (0.5,)),
    "clipped": Action("offset", (0.5,), clip=(-1.0, 1.0)),
    "limited": Action("offset", (0.5,), limits=((-0.1, 0.2),)),
}


@pytest.mark.parametrize("meaning", MEANINGS)
def test_actions_mean_what_the_contract_says(meaning: str, rod: Robot) -> None:
    """Two steps in a row; what is clipped is also what is seen of it."""
    frames = MotionFrames.of(swings(), rod)
    ours = tracking_contract(frames, rod, "asap", "default", 0.005)
    action = MEANINGS[meaning]
    task = task_of(frames, rod, contract=replace(ours, action=action))
    start = begun(task).q[:, 0]
    sent = []
    for at in (1, 2):
        sent.append(task.command(np.full((N, 1), 3.0), True).target[:, 0])
        task.reward(on_course(frames, at), np.zeros(N, bool))
        task.look(on_course(frames, at), np.zeros(N, bool))
    wanted = {
        "reference": frames.state.q[:2, 0] + 1.5,
        "offset": [1.5, 1.5],
        "offset of its own": [1.8, 1.8],
        "absolute": [1.5, 1.5],
        "increment": [start[0] + 1.5, start[0] + 3.0],
        "clipped": [0.5, 0.5],
        "limited": [0.2, 0.2],
    }[meaning]
    np.testing.assert_allclose(np.array(sent).T, np.tile(wanted, (N, 1)))
    assert (task.observed[:, 0] == (1.0 if meaning == "clipped" else 3.0)).all()


def few_joints(contract: PolicyContract, count: int, hold: dict[str, float]) -> PolicyContract:
    """The same for some joints alone, in another order."""
    some = contract.joints[:count][::-1]
    columns = [contract.joints.index(j) for j in some]
    kp, kd = ([values[i] for i in columns] for values in (contract.kp, contract.kd))
    action = replace(contract.action, scale=(0.25,))
    return replace(contract, joints=some, kp=tuple(kp), kd=tuple(kd), action=action, hold=hold)


def test_joints_that_it_does_not_move_are_held(walker: Robot, frames: MotionFrames) -> None:
    """Where the contract says, or at rest; the moved ones are matched by name."""
    whole = tracking_contract(frames, walker, "asap", "residual", 0.005)
    contract = few_joints(whole, 12, {"left_elbow_joint": 0.4})
    task = task_of(frames, walker, contract=contract, starts=StartNoise())
    begun(task)
    actions = np.tile(np.arange(12.0), (N, 1))
    sent = task.command(actions, True).target
    scale = contract.action.scale[0]
    wanted = frames.state.q[0, :12] + scale * np.arange(12)[::-1]
    np.testing.assert_allclose(sent[:, :12], np.tile(wanted, (N, 1)))
    rest = walker.joints.default.copy()
    rest[walker.joints.index("left_elbow_joint")] = 0.4
    np.testing.assert_array_equal(sent[:, 12:], np.tile(rest[12:], (N, 1)))


def test_gains_of_another_policy_are_told_to_the_world(walker: Robot, frames: MotionFrames) -> None:
    """Its own gains need not be."""
    ours = tracking_contract(frames, walker, "asap", "residual", 0.005)
    assert task_of(frames, walker, contract=ours).begin(np.arange(N)).conditions is None
    soft = replace(ours, kp=tuple(0.5 * k for k in ours.kp))
    told = task_of(frames, walker, contract=soft).begin(np.arange(2)).conditions
    assert [c.gains for c in told] == [soft.gains] * 2
    wrong = replace(walker, gain_errors={walker.joints.names[0]: (0.7, 1.0)})
    told = task_of(frames, wrong, contract=ours).begin(np.arange(1)).conditions
    assert told[0].gains == ours.gains  # the drives make of them what they do


def test_policies_that_cannot_be_trained_on_a_motion_are_refused(
    walker: Robot, frames: MotionFrames, rod: Robot
) -> None:
    """A walker; one for another robot; one that sees a base, or a push, of a held robot."""
    ours = tracking_contract(frames, walker, "asap", "residual", 0.005)
    told = replace(ours, commands={"velocity": PolicyCommand((-1.0,), (1.0,))})
    with pytest.raises(DataError, match="is told velocity while it runs"):
        task_of(frames, walker, contract=told)
    with pytest.raises(NameMismatchError, match="unknown joint 'left_hip_pitch_joint'"):
        task_of(MotionFrames.of(swings(), rod), rod, contract=ours)
    sees = replace(ours, terms={**ours.terms, "tail": Term("tail", "joint_vel", joints=("tail",))})
    with pytest.raises(NameMismatchError, match="unknown joint 'tail'"):
        task_of(frames, walker, contract=sees)
    held = walker.with_mount("fixed")
    with pytest.raises(DataError, match=r"sees base_ang_vel, projected_gravity: that needs a base"):
        task_of(MotionFrames.of(standing_motion(walker), held), held, contract=ours)
    with pytest.raises(DataError, match="a push: that needs a base, and pendulum"):
        task_of(MotionFrames.of(swings(), rod), rod, push=0.5)


def test_files_of_the_robot_need_no_groups() -> None:
    """All bodies stand for those that rewards look for; an arm has no feet."""
    arm = Robot.load("so101")
    motion = standing_motion(Robot.load("g1_23dof"))
    q = np.tile(arm.joints.default, (len(motion), 1))
    frames = MotionFrames.of(replace(motion, joints=arm.joints.names, q=q), arm)
    task = task_of(frames, arm)
    begun(task)
    task.command(np.zeros((N, 6)), True)
    assert np.isfinite(task.reward(on_course(frames, 1), np.zeros(N, bool))).all()
