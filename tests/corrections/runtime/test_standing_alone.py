"""A saved correction runs on a robot's computer: NumPy and safetensors, nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gapless.corrections.runtime import Correction

STEPS, ENVIRONMENTS = 6, 3

ALONE = """
import sys
tried = []
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mujoco", "torch", "scipy", "pyarrow"):
            tried.append(name)
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
before = set(sys.modules)
import numpy as np
import gapless.corrections.runtime
from gapless.corrections import Correction
folder, signals, out = sys.argv[1:]
correction, given = Correction.load(folder), dict(np.load(signals))
rows, memory = [], None
for t in range(len(given["q"])):
    now = {name: values[t] for name, values in given.items()}
    acted = correction.act(now, memory or correction.begun(now))
    memory = acted.memory
    rows.append(np.concatenate([acted.output, acted.spread, acted.weight], axis=1))
np.save(out, np.stack(rows))
assert not tried, tried
names = {m.split(".")[0] for m in set(sys.modules) - before}
print(sorted(names - set(sys.stdlib_module_names)))
"""


def signals(correction: Correction) -> dict[str, np.ndarray]:
    """(T, n, d) states, targets and loads around those of the training."""
    rng, joints = np.random.default_rng(3), len(correction.contract.joints)
    shape = STEPS, ENVIRONMENTS, joints
    found = {name: rng.normal(0, 0.3, shape) for name in ("q", "dq", "target")}
    return found | {"payload": np.full((STEPS, ENVIRONMENTS, 1), 0.2)}


def acted(correction: Correction, given: dict[str, np.ndarray]) -> np.ndarray:
    """(T, n, 3K) outputs, spreads and weights, computed here."""
    rows, memory = [], None
    for t in range(STEPS):
        now = {name: values[t] for name, values in given.items()}
        found = correction.act(now, memory or correction.begun(now))
        memory = found.memory
        rows.append(np.concatenate([found.output, found.spread, found.weight], axis=1))
    return np.stack(rows)


@pytest.mark.parametrize(
    ("model", "choices"),
    [
        ("mlp", {"rate_limit": 0.3}),
        ("gru", {"members": 2}),
        ("operator", {"members": 2}),
        ("actuator", {"head": "torque"}),
        ("actuator", {"share": (0, 0), "joints": "elbow_flex"}),
    ],
)
def test_a_correction_needs_numpy_and_safetensors_alone(made, model, choices, tmp_path: Path):
    """To the bit what it gives here, where everything is installed."""
    correction = made(model, **choices)
    correction.save(tmp_path / "cor")
    given = signals(correction)
    np.savez(tmp_path / "signals.npz", **given)
    files = [str(tmp_path / name) for name in ("cor", "signals.npz", "out.npy")]
    done = subprocess.run([sys.executable, "-c", ALONE, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(listed(done.stdout)) <= {"gapless", "numpy", "safetensors"}, done.stdout
    there, here = np.load(tmp_path / "out.npy"), acted(correction, given)
    assert np.abs(here[..., 0]).max() > 0
    np.testing.assert_array_equal(there, here)


def listed(text: str) -> list[str]:
    """A printed list of names."""
    return [name.strip(" '") for name in text.strip()[1:-1].split(",")]
