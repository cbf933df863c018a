"""MujocoWorld against bare MuJoCo, and its promises."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError, SimulationError
from gapless.motions.excitation import multisine
from gapless.recordings.conditions import Conditions
from gapless.robots import Payload, Robot
from gapless.worlds import Effects, MujocoWorld, World
from gapless.worlds.record import record


def targets(robot: Robot, environments: int = 3, seconds: float = 1.0) -> np.ndarray:
    """Different motions for each environment."""
    return np.stack([multisine(robot, seconds, 50, seed=s) for s in range(environments)])


def test_is_a_world(arms: Robot) -> None:
    """The protocol is met."""
    assert isinstance(MujocoWorld(arms), World)


def test_rollout_equals_a_plain_mj_step_loop(arms: Robot) -> None:
    """Our layer adds nothing to the physics: same numbers as stepping MuJoCo by hand."""
    world = MujocoWorld(arms)
    motion = targets(arms, 1)
    played = world.rollout(world.home(1), motion)
    model = arms.model(timestep=0.002)
    data = mujoco.MjData(model)
    at = [model.joint(n).qposadr[0] for n in arms.joints.names]
    data.qpos[at] = arms.joints.default
    for t in range(motion.shape[1]):
        data.ctrl[:] = motion[0, t]
        for _ in range(10):
            mujoco.mj_step(model, data)
        np.testing.assert_array_equal(played.q[0, t + 1], data.qpos[at])


def test_step_equals_rollout(arms: Robot) -> None:
    """Stepping one control step at a time gives the states of a rollout."""
    world, motion = MujocoWorld(arms), targets(arms)
    played = world.rollout(world.home(3), motion)
    world.reset(world.home(3))
    for t in range(motion.shape[1]):
        state = world.step(motion[:, t])
    np.testing.assert_allclose(state.q, played.q[:, -1], atol=1e-12)


@pytest.mark.parametrize("effects", [Effects(delay=0.03), Effects(backlash=0.02, delay=0.013)])
def test_step_equals_rollout_with_effects(arms: Robot, effects: Effects) -> None:
    """The command history of a delay is carried from step to step."""
    world, motion = MujocoWorld(arms, effects=effects), targets(arms)
    start = world.home(3)
    played = world.rollout(start, motion, history=start.q[:, None])
    world.reset(start)
    for t in range(motion.shape[1]):
        state = world.step(motion[:, t])
    np.testing.assert_allclose(state.q, played.q[:, -1], atol=1e-12)


def test_long_rollouts_are_cut_without_a_seam(arms: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout in many small chunks equals one in a single chunk, delay included."""
    world, motion = MujocoWorld(arms, effects=Effects(delay=0.05)), targets(arms)
    whole = world.rollout(world.home(3), motion)
    monkeypatch.setattr("gapless.worlds.mujoco_engine.BUFFER_BYTES", 100_000)
    np.testing.assert_allclose(world.rollout(world.home(3), motion).q, whole.q, atol=1e-9)


def test_same_inputs_same_bytes(arms: Robot) -> None:
    """Two worlds, any number of threads: identical results."""
    motion = targets(arms, 5)
    one, two = MujocoWorld(arms, threads=1), MujocoWorld(arms, threads=2)
    a, b = (w.rollout(w.home(5), motion) for w in (one, two))
    assert a.q.tobytes() == b.q.tobytes()
    assert a.dq.tobytes() == b.dq.tobytes()


def test_whole_step_delay_is_a_shift(arms: Robot) -> None:
    """A world 40 ms late does now what the plain world did two steps ago."""
    motion = targets(arms, 1)
    late = MujocoWorld(arms, effects=Effects(delay=0.04))
    plain = MujocoWorld(arms)
    shifted = np.concatenate([motion[:, :1], motion[:, :1], motion[:, :-2]], axis=1)
    np.testing.assert_array_equal(
        late.rollout(late.home(), motion).q, plain.rollout(plain.home(), shifted).q
    )


def test_encoder_bias_moves_the_true_joint_the_other_way(so101: Robot) -> None:
    """The controller holds the reported position, so the true one is off by the bias."""
    heavy = so101.with_joints(kp=1e3, kd=30.0, effort=1e3)
    biased = MujocoWorld(heavy, effects=Effects(encoder_bias=0.1))
    plain = MujocoWorld(heavy)
    hold = np.repeat(biased.home().q[:, None], 100, axis=1)
    seen = biased.rollout(biased.home(), hold).q[0, -1]
    moved = plain.rollout(replace(plain.home(), q=plain.home().q - 0.1), hold - 0.1).q[0, -1]
    np.testing.assert_allclose(seen, moved + 0.1, atol=1e-9)


def test_each_copy_has_its_own_payload_and_gains(arms: Robot) -> None:
    """A batch with different conditions equals separate worlds."""
    hand = arms.end_effectors[0].body
    loads, stiff = {hand: Payload(2.0)}, {"left_elbow_joint": (40.0, 2.0)}
    conditions = [Conditions(), Conditions(payloads=loads), Conditions(gains=stiff)]
    robots = [arms, arms.with_payloads(loads), arms.with_gains(stiff)]
    world, motion = MujocoWorld(arms), targets(arms)
    together = world.rollout(world.home(3), motion, conditions=conditions)
    for i, robot in enumerate(robots):
        alone = MujocoWorld(robot).rollout(world.home(1), motion[i : i + 1])
        np.testing.assert_array_equal(together.q[i], alone.q[0])
    assert np.abs(together.q[1] - together.q[0]).max() > 0.05


def test_an_unloaded_recording_unloads_a_loaded_robot(arms: Robot) -> None:
    """payloads={} means "carried nothing", None means "as the robot is"."""
    hand = arms.end_effectors[0].body
    loaded = MujocoWorld(arms.with_payloads({hand: Payload(2.0)}))
    motion = targets(arms, 1)
    free = loaded.rollout(loaded.home(), motion, conditions=[Conditions(payloads={})])
    nominal = MujocoWorld(arms)
    expected = nominal.rollout(nominal.home(), motion).q
    np.testing.assert_allclose(free.q, expected, rtol=0, atol=1e-12)


def test_extra_torque_acts(so101: Robot) -> None:
    """A feed-forward torque on one joint moves that joint by torque/kp."""
    world = MujocoWorld(so101.with_joints(frictionloss=0.0))
    hold = np.repeat(world.home().q[:, None], 150, axis=1)
    push = np.zeros_like(hold)
    push[..., 0] = 0.5
    pan = world.rollout(world.home(), hold, torques=push).q[0, -1, 0]
    still = world.rollout(world.home(), hold).q[0, -1, 0]
    assert pan - still == pytest.approx(0.5 / so101.joints.kp[0], rel=0.01)


def test_reset_of_some_copies_leaves_the_others(arms: Robot) -> None:
    """`which` touches only the environments it names."""
    world, motion = MujocoWorld(arms), targets(arms)
    world.reset(world.home(3))
    for t in range(5):
        before = world.step(motion[:, t])
    world.reset(world.home(1), which=np.array([False, True, False]))
    after = world.step(motion[:, 5])
    assert np.abs(after.q[1] - arms.joints.default).max() < np.abs(before.q[1] - after.q[1]).max()
    assert not world.health.diverged.any()


def test_physics_step_divides_the_control_step(so101: Robot) -> None:
    """An odd rate gets an even division no longer than asked for."""
    world = MujocoWorld(so101, rate=95)
    assert world.timestep <= 0.002
    assert world.timestep * world.substeps == pytest.approx(1 / 95)


def test_identity_tells_worlds_apart(arms: Robot) -> None:
    """Same inputs, same identity; another gain or effect, another one."""
    base = MujocoWorld(arms).identity
    assert MujocoWorld(arms).identity.key == base.key
    assert MujocoWorld(arms.with_joints(kp=arms.joints.kp * 0.9)).identity.key != base.key
    assert MujocoWorld(arms, effects=Effects(delay=0.01)).identity.key != base.key
    assert MujocoWorld(arms, rate=100).identity.key != base.key


def test_the_solver_is_chosen_for_every_model_and_is_part_of_the_identity(arms: Robot) -> None:
    """Of variants and of environments with loads too; by default nothing is changed."""
    plain, quick = MujocoWorld(arms), MujocoWorld(arms, solver="CG", iterations=8)
    load = {arms.links[-1]: Payload(0.5)}
    for world in (quick, quick.twin(), quick.at_rate(25)):
        for model in world.models.of_environments(2, [Conditions(payloads=load), Conditions()]):
            assert (model.opt.solver, model.opt.iterations) == (mujoco.mjtSolver.mjSOL_CG, 8)
        assert world.identity.solver == "CG 8"
    assert plain.model.opt.solver == arms.model().opt.solver and plain.identity.solver == ""
    assert plain.identity.key != quick.identity.key == quick.twin().identity.key
    with pytest.raises(SimulationError, match="solver is  here and CG 8 there"):
        plain.identity.require_same_simulator(quick.identity)
    assert MujocoWorld(arms, iterations=50).identity.solver == "Newton 50"
    with pytest.raises(NameMismatchError, match="Known: Newton, CG, PGS"):
        MujocoWorld(arms, solver="cg")
    with pytest.raises(SimulationError, match="1 or more"):
        MujocoWorld(arms, iterations=0)


def test_free_robot_needs_a_base(arms: Robot) -> None:
    """A start without a base pose is refused with the way out."""
    world = MujocoWorld(Robot.load("g1", mount="free"))
    start = world.home()
    joints_only = replace(start, base_pos=None, base_quat_wxyz=None)
    with pytest.raises(SimulationError, match="mount='fixed'"):
        world.rollout(joints_only, start.q[:, None])


def test_wrong_number_of_joints_is_refused(arms: Robot) -> None:
    """The message names both numbers."""
    world = MujocoWorld(arms)
    with pytest.raises(SimulationError, match="5 columns"):
        world.rollout(world.home(), np.zeros((1, 3, 5)))
    world.reset(world.home(2))
    with pytest.raises(SimulationError, match="reset"):
        world.step(np.zeros((3, len(arms.joints.names))))


def test_record_refuses_nothing_but_divergence(arms: Robot) -> None:
    """A recording has one state a target, the state before it acts."""
    world, motion = MujocoWorld(arms), targets(arms, 1)[0]
    clip = record(world, motion, "m", start=world.home())
    assert len(clip) == len(motion)
    np.testing.assert_array_equal(clip.q[0], arms.joints.default)
    with pytest.raises(DataError, match="not finite"):
        record(world, motion * np.nan, "m", start=world.home())


@pytest.mark.parametrize(("rate", "step"), [(1e-320, 0.002), (1e-6, 0.002), (1e300, 1.0)])
def test_a_clock_that_nothing_can_follow_is_refused(so101: Robot, rate: float, step: float) -> None:
    """It would take for ever, or not be a number."""
    with pytest.raises(SimulationError, match="cannot be simulated"):
        MujocoWorld(so101, rate, physics_step=step)
