"""A policy runs on a robot's computer: NumPy and onnxruntime, nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import small_networks as nets
from gapless.policies import Policy
from gapless.robots import Robot
from gapless.worlds.world import State

BLOCKED = ("mujoco", "torch", "scipy", "pyarrow", "onnx", "yaml", "rich")
ON_A_ROBOT = """
import sys
from types import SimpleNamespace
tried = []
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            tried.append(name)
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
import numpy as np
from gapless.policies import Policy
folder, given, out = sys.argv[1:]
policy, data = Policy.load(folder), dict(np.load(given))
readings = SimpleNamespace(**{{k: v for k, v in data.items() if k not in ("names", "velocity")}})
controller = policy.start(tuple(map(str, data["names"])), np.zeros(len(data["names"])))
rows = [controller.act(readings, {{"velocity": data["velocity"]}}) for _ in range(3)]
np.save(out, np.concatenate(rows))
assert not tried, tried
"""
CONTRACT = """
network = "policy.onnx"
robot = "g1"
rate = 50
[action]
scale = 0.25
[commands.velocity]
lower = [-1, -1, -1]
upper = [1, 1, 1]
[terms.clock]
kind = "gait_sin_cos"
period = 0.8
[[observation]]
terms = ["base_ang_vel", "projected_gravity", "command", "joint_pos_rel", "joint_vel", "clock"]
frames = 2
"""


def sensed(joints: int) -> dict[str, np.ndarray]:
    """What the sensors of one robot say."""
    rng = np.random.default_rng(0)
    quat = rng.normal(size=(1, 4))
    return {
        "q": rng.normal(size=(1, joints)),
        "dq": rng.normal(size=(1, joints)),
        "base_quat_wxyz": quat / np.linalg.norm(quat),
        "base_ang_vel_b": rng.normal(size=(1, 3)),
    }


@pytest.mark.parametrize("kind", ["feedforward", "recurrent"])
def test_a_policy_needs_numpy_and_onnxruntime_alone(kind: str, tmp_path: Path) -> None:
    """Three steps of a policy.toml, to the bit as here; nothing else is even asked for."""
    names, width = Robot.load("g1").joints.names, 2 * (3 + 3 + 3 + 29 + 29 + 2)
    (tmp_path / "policy.toml").write_text(CONTRACT)
    if kind == "recurrent":
        nets.lstm(tmp_path / "policy.onnx", width, 8, 29)
    else:
        nets.linear(tmp_path / "policy.onnx", nets.drawn(width, 29))
    data, asked = sensed(29), np.array([[0.5, 0.0, 0.1]])
    np.savez(tmp_path / "given.npz", **data, names=np.array(names), velocity=asked)
    files = [str(tmp_path / name) for name in ("", "given.npz", "out.npy")]
    code = ON_A_ROBOT.format(blocked=BLOCKED)
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    controller = Policy.load(tmp_path).start(names, np.zeros(29))
    blank = {"base_pos": np.zeros((1, 3)), "base_lin_vel_w": np.zeros((1, 3))}
    here = [controller.act(State(**data, **blank), {"velocity": asked}) for _ in range(3)]
    there = np.load(tmp_path / "out.npy")
    np.testing.assert_array_equal(there, np.concatenate(here))
    assert np.ptp(there, axis=0).max() > 1e-3
