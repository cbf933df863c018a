"""Episodes: a policy at work in a world, many at once, as the world really was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapless.corrections import CorrectedWorld
from gapless.errors import SimulationError
from gapless.evaluation.scenario import Scenario
from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.parameters.held_loads import refuse_heavy_load
from gapless.policies import Policy, PolicyController
from gapless.progress import ProgressReporter, Watch
from gapless.recordings.conditions import Conditions
from gapless.robots import Floor, Kinematics, Robot
from gapless.robots.assemble import standing_height
from gapless.robots.rotations import rotate
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.hidden.hidden_world import HiddenWorld
from gapless.worlds.hidden.true_state import true_state
from gapless.worlds.mixed_world import MixedWorld
from gapless.worlds.world import State, World

LOW = 0.55
"""A base below this share of its height at the start has fallen."""
TILTED = 1.0
"""So has one that is tilted by more than this, rad."""


@dataclass(frozen=True)
class Episodes:
    """What n episodes of T control steps did; samples after a fall mean nothing.

    Attributes:
        policy: whose they are.
        robot: that is simulated, nominal where it is hidden.
        rate: control steps per second.
        states: (n, T+1, ...) true states, sample 0 the start.
        readings: (n, T+1, ...) what the sensors said of them, as a log would have it.
        targets: (n, T, J) commanded positions, rad.
        torque: (n, T, J) of the motors at the end of each step, N·m.
        commands: name -> (n, T, C) what was asked for.
        pushes: (n, T, 3) velocity given to the base before each step, m/s.
        fell: (n,) control steps until it fell or diverged; T+1 where it did not.
        diverged: (n,) where the simulation broke down.
    """

    policy: str
    robot: Robot
    rate: float
    states: State
    readings: State
    targets: np.ndarray
    torque: np.ndarray
    commands: dict[str, np.ndarray]
    pushes: np.ndarray
    fell: np.ndarray
    diverged: np.ndarray

    @property
    def steps(self) -> int:
        """Control steps of an episode."""
        return self.targets.shape[1]

    @property
    def survived(self) -> np.ndarray:
        """(n,) True where it stood to the end."""
        return self.fell > self.steps

    @property
    def alive(self) -> np.ndarray:
        """(n, T) True in steps before the fall."""
        return np.arange(self.steps) < np.minimum(self.fell, self.steps)[:, None]


def play(
    policy: Policy,
    world: World,
    scenario: Scenario,
    watch: Watch | None = None,
    stage: str = "episodes",
    *,
    start: State | None = None,
    conditions: Sequence[Conditions] | None = None,
    motion: Motion | None = None,
) -> Episodes:
    """Run a policy in a world.

    Args:
        policy: whose robot must be the world's.
        world: raw, corrected, hidden, of any engine; on a floor.
        scenario: what is asked for and what happens.
        watch: told how many of the control steps are done.
        stage: what it is told that this is.
        start: of each episode; a little off the policy's own stance by default.
        conditions: of each episode; the policy's gains and the scenario's loads by default.
        motion: whose first frame episodes start near, instead of the policy's stance.
    """
    world = world.at_rate(policy.contract.rate)
    robot, contract = world.robot, policy.contract
    if robot.mount != "free":
        raise SimulationError(
            f"a policy is evaluated on its feet; {robot.name} is mounted {robot.mount!r} (use "
            "--mount free)"
        )
    steps = _steps(policy, scenario)
    start = starts(policy, world, scenario, motion) if start is None else start
    told = [scenario.conditions(contract, robot)] * scenario.episodes
    told = told if conditions is None else list(conditions)
    if told[0].payloads:
        refuse_heavy_load(robot.with_payloads(told[0].payloads))
    world.reset(start, conditions=told)
    controller = _controller(policy, world, scenario.episodes)
    reporter = ProgressReporter(watch, stage, steps)
    return _Playing(world, controller, scenario, start, steps, told).played(reporter)


def _steps(policy: Policy, scenario: Scenario) -> int:
    seconds = policy.contract.motion_seconds
    if seconds is None and policy.reference is not None and len(policy.reference) > 1:
        seconds = (len(policy.reference) - 1) / policy.contract.rate
    return round(policy.contract.rate * (scenario.seconds if seconds is None else seconds))


def _controller(policy: Policy, world: World, episodes: int) -> PolicyController:
    robot, anchor = world.robot, policy.contract.anchor
    kinematics = Kinematics.of(robot) if anchor and anchor != robot.root else None

    def find(readings: object) -> tuple[np.ndarray, np.ndarray]:
        assert kinematics is not None and isinstance(readings, State)
        pos, quat = kinematics.link_poses(readings.q, readings.base_pos, readings.base_quat_wxyz)
        column = kinematics.links.index(robot.check_link(anchor))
        return pos[:, column], quat[:, column]

    return policy.start(
        robot.joints.names, robot.joints.default, episodes, find if kinematics else None
    )


def starts(policy: Policy, world: World, scenario: Scenario, motion: Motion | None = None) -> State:
    """The policy's stance on the floor, or a motion's first frame; each episode a little off."""
    robot, contract, n = world.robot, policy.contract, scenario.episodes
    if motion is not None:
        first = MotionFrames.of(motion, robot, contract.rate).state[np.zeros(n, int)].start()
        return replace(first, q=_near(first.q, robot, scenario))
    pose = {**dict(zip(contract.joints, contract.pose, strict=True)), **contract.hold}
    stance = robot.with_joints(default={j: a for j, a in pose.items() if j in robot.joints.names})
    home = world.home(n)
    rise = standing_height(replace(stance, height=None)) - standing_height(
        replace(robot, height=None)
    )
    q = _near(np.broadcast_to(stance.joints.default, home.q.shape), robot, scenario)
    assert home.base_pos is not None
    return replace(home, q=q, base_pos=home.base_pos + np.array([0.0, 0.0, rise]))


def _near(q: np.ndarray, robot: Robot, scenario: Scenario) -> np.ndarray:
    """(n, J) positions a little off, within the range of the joints."""
    rng = np.random.default_rng([scenario.seed, 0])
    off = rng.uniform(-1, 1, q.shape) * scenario.start_noise
    return np.clip(q + off, robot.joints.lower, robot.joints.upper)


def really(world: World, seen: State) -> State:
    """The state as it is: of a hidden robot what no sensor says."""
    if isinstance(world, MixedWorld):
        count = len(world.worlds)
        parts = [really(w, seen[k::count]).fields for k, w in enumerate(world.busy)]
        return State(**{name: world.mixed([part[name] for part in parts]) for name in parts[0]})
    if isinstance(world, HiddenWorld):
        return replace(true_state(world), torque=seen.torque)
    inner = world.world if isinstance(world, CorrectedWorld) else world
    return replace(inner.state, torque=seen.torque) if isinstance(inner, EngineWorld) else seen


class _Playing:
    """The loop: see, act, step, look whether it fell."""

    def __init__(
        self,
        world: World,
        controller: PolicyController,
        scenario: Scenario,
        start: State,
        steps: int,
        conditions: list,
    ) -> None:
        self.world, self.controller, self.scenario = world, controller, scenario
        self.start, self.steps, self.conditions = start, steps, conditions
        self.fell = np.full(len(start), steps + 1)
        self.diverged = np.zeros(len(start), bool)

    def played(self, reporter: ProgressReporter) -> Episodes:
        contract, rate = self.controller.contract, self.world.rate
        commands = self.scenario.asked(contract, self.steps)
        pushes = self.scenario.pushes(rate, self.steps)
        seen, states = self.start, [really(self.world, self.start).start()]
        readings, targets, torque = [seen.start()], [], []
        for t in range(self.steps):
            if pushes[:, t].any():
                self.world.push(pushes[:, t])
            wanted = self.controller.act(seen, {k: v[:, t] for k, v in commands.items()})
            seen = self.world.step(wanted)
            true = really(self.world, seen)
            states.append(true.start())
            readings.append(seen.start())
            targets.append(wanted.astype(np.float32))
            torque.append(np.asarray(seen.torque, np.float32))
            seen = self._picked_up(seen, true, t + 1)
            reporter.tell(t + 1)
            if (self.fell <= t + 1).all():
                break
        return Episodes(
            policy=contract.name,
            robot=self.world.robot,
            rate=rate,
            states=_over_time(states),
            readings=_over_time(readings),
            targets=np.stack(targets, axis=1),
            torque=np.stack(torque, axis=1),
            commands={k: v[:, : len(targets)] for k, v in commands.items()},
            pushes=pushes[:, : len(targets)],
            fell=np.where(self.fell > self.steps, len(targets) + 1, self.fell),
            diverged=self.diverged,
        )

    def _picked_up(self, seen: State, true: State, step: int) -> State:
        """Note who fell now, and put them back on their feet: they cost less time there."""
        gone = self.world.health.diverged
        down = fallen(true, self.start, self.world.robot.floor) | gone
        new = down & (self.fell > self.steps)
        self.fell[new] = step
        self.diverged |= new & gone
        rows = np.flatnonzero(down)
        if not len(rows):
            return seen
        self.world.reset(self.start[rows], rows, [self.conditions[i] for i in rows])
        self.controller.forget(rows)
        return seen.with_rows(rows, self.start[rows].completed(seen[rows]))


def _over_time(states: list[State]) -> State:
    """Single precision is plenty to score them."""
    return State.stack([s.map(lambda a: a.astype(np.float32)) for s in states], axis=1)


def fallen(state: State, start: State, floor: Floor) -> np.ndarray:
    """(n,) True where the base is low, or leans too far to recover."""
    assert state.base_pos is not None and start.base_pos is not None
    height = state.base_pos[:, 2] - floor_height(floor, state.base_pos[:, :2])
    return (height < LOW * start.base_pos[:, 2]) | (tilt(state) > TILTED)


def floor_height(floor: Floor, place: np.ndarray) -> np.ndarray:
    """(...,) height of a sloping floor at (..., 2) places, m; stairs are left out."""
    ahead = place @ np.array([np.cos(floor.slope_heading), np.sin(floor.slope_heading)])
    return np.tan(floor.slope) * ahead


def tilt(state: State) -> np.ndarray:
    """(...,) angle of the base from upright, rad."""
    up = rotate(state.base_quat_wxyz, np.array([0.0, 0.0, 1.0]))  # type: ignore[arg-type]
    return np.arccos(np.clip(up[..., 2], -1, 1))
