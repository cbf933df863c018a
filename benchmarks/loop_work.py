"""What a control step costs, part by part, as processor time: other programs do not change it much.

A policy holds a G1 in a World of this process, recorded; `write` is the World's step there, so what
Unitree's messages cost in its place (a state read and checked, a command sealed and written) is
measured beside it. `step` is all but the World.

    python benchmarks/loop_work.py --steps 1500 --json loop_work.json
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from gapless.deployment.control_loop import ControlLoop
from gapless.deployment.flight_recorder import FlightRecorder
from gapless.deployment.gantry import Gantry
from gapless.deployment.links.unitree_dds import UnitreePort
from gapless.deployment.links.unitree_link import UnitreeLink
from gapless.deployment.links.unitree_messages import message_type, sample_of
from gapless.deployment.links.unitree_wire import motor_rows
from gapless.deployment.links.wire_message import WireMessage
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.pilot import PolicyPilot
from gapless.deployment.robot_link import JointCommand
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import SafetyLimits
from gapless.policies import Policy
from gapless.robots import Robot
from gapless.worlds import MujocoWorld

RATE, HIDDEN = 50, 256
STATE, COMMAND = "unitree_hg.msg.dds_.LowState_", "unitree_hg.msg.dds_.LowCmd_"
CONTRACT = """
network = "policy.onnx"
name = "hold"
robot = "g1"
rate = 50
kp = 400
kd = 10
[action]
scale = 0.25
[commands.velocity]
lower = [-1, -1, -1]
upper = [1, 1, 1]
[[observation]]
terms = ["base_ang_vel", "projected_gravity", "command",
         "joint_pos_rel", "joint_vel", "last_action"]
frames = 5
"""


class ThreadClock:
    """Processor time of the thread that asks; nobody sleeps."""

    def now(self) -> float:
        """Seconds."""
        return time.thread_time()

    def sleep_until(self, moment: float) -> None:
        """At once."""


def hold(folder: Path, robot: Robot) -> Policy:
    """A policy as large as a walker's, that holds the stance."""
    count = len(robot.joints)
    wide, rng = 5 * (9 + 3 * count), np.random.default_rng(0)
    sizes = [(wide, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, count)]
    nodes, weights, name = [], [], "obs"
    for k, size in enumerate(sizes):
        scale = 0.0 if k == len(sizes) - 1 else 0.05
        weight = rng.normal(0, scale, size).astype("f4")
        weights.append(numpy_helper.from_array(weight, f"w{k}"))
        nodes.append(helper.make_node("MatMul", [name, f"w{k}"], [f"x{k}"]))
        nodes.append(helper.make_node("Tanh", [f"x{k}"], [name := f"y{k}"]))
    ports = [("obs", wide), (name, count)]
    put, got = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, s]) for n, s in ports)
    graph = helper.make_graph(nodes, "hold", [put], [got], weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "policy.onnx")
    (folder / "policy.toml").write_text(CONTRACT)
    return Policy.load(folder / "policy.toml", robot)


def flown(steps: int, folder: Path) -> dict[str, dict[str, float]]:
    """p50, p99 and max of every part of the loop, ms."""
    robot = Robot.load("g1")
    link = WorldLink(MujocoWorld(robot, RATE), gantry=Gantry(3600.0, RATE))
    policy = hold(folder, robot)
    limits = SafetyLimits.of_robot(robot, link.channels, RATE)
    loop = ControlLoop(
        link,
        PolicyPilot(policy, robot, link.joints),
        SafetyFilter(limits, link.joints),
        clock=ThreadClock(),
    )
    recorded = FlightRecorder(folder / "data", "g1", link.joints, RATE, link.channels, "hold")
    with recorded as loop.recorder:
        report = loop.run(steps)
    if report.damped is not None:
        raise SystemExit(f"the robot was damped: {report.damped}")
    return {k: {q: 1e3 * s for q, s in v.items()} for k, v in report.timings.items()}


def timed(work: Callable[[], object], count: int) -> dict[str, float]:
    """p50, p99 and max, ms."""
    took = []
    for _ in range(count):
        began = time.thread_time()
        work()
        took.append(1e3 * (time.thread_time() - began))
    return {"p50": float(np.median(took)), "p99": float(np.quantile(took, 0.99)), "max": max(took)}


class Wire:
    """Where a command goes instead of the network: it is made ready, and its bytes are taken."""

    def give(self, message: WireMessage) -> None:
        """Seal and serialise."""
        message.seal()
        sample_of(message).serialize()


def messages(count: int) -> dict[str, dict[str, float]]:
    """What a state that came, and a command that goes, cost."""
    robot = Robot.load("g1")
    link = object.__new__(UnitreeLink)
    link.joints, link.family = tuple(robot.joints.names), "unitree_hg"
    link._rows = tuple(motor_rows("g1", link.joints))
    link._state, link._tick, link._message = None, 0, WireMessage(COMMAND)
    link._port = cast(UnitreePort, Wire())
    sent, kind = WireMessage(STATE), message_type(STATE)
    sent.seal()
    data = sent.data

    def take() -> None:
        message = kind.deserialize(data)
        if not message.is_sealed:
            raise SystemExit("the checksum of our own message is wrong")
        link._state = link._seen(message, int(message.get("tick")))

    own = robot.joints
    command = JointCommand.of_targets(own.default, own.kp, own.kd)
    return {
        "state in": timed(take, count),
        "command out": timed(lambda: link.write(command), count),
    }


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = flown(args.steps, Path(folder)) | messages(args.steps)
    parts = ("read", "observe", "infer", "filter", "record", "state in", "command out")
    print("| part | p50, ms of processor | p99, ms |\n|---|---|---|")
    for part in (p for p in parts if p in found):
        print(f"| {part} | {found[part]['p50']:.3f} | {found[part]['p99']:.3f} |")
    print(f"| their sum | {sum(found[p]['p50'] for p in parts if p in found):.3f} | |")
    if args.json:
        args.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
