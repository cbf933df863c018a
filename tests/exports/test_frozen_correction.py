"""The torch module that exports carry gives what our own NumPy runtime gives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gapless.corrections import CorrectedWorld, Correction
from gapless.exports.frozen_files import write_frozen
from gapless.exports.standalone.frozen_correction import FrozenCorrection
from gapless.robots import Robot
from gapless.worlds import MujocoWorld

STEPS, CLOSE = 60, 1e-5
KINDS: dict[str, dict[str, Any]] = {
    "mlp": {},
    "rate limit and hold": {"rate_limit": 0.2, "hold": 3},
    "ensemble": {"members": 3, "joints": ("elbow_flex",)},
    "gru": {"model": "gru", "members": 2},
    "actuator": {"model": "actuator", "members": 2},
    "shared actuator": {"model": "actuator", "share": (0, 0)},
    "operator": {"model": "operator", "payload": False},
    "operator of all": {"model": "operator", "payload": False, "local": False},
    "torque": {"head": "torque", "model": "mlp"},
    "signals": {"now": ("q", "dq", "ddq", "error", "start_error", "previous"), "history": 2},
}


def replayed(correction: Correction, folder: Path, pair: Robot) -> tuple[np.ndarray, np.ndarray]:
    """(T, n, J) what both give along the same states; the second of three is reset half-way."""
    world = CorrectedWorld(MujocoWorld(pair, 50, physics_step=0.005), None, [correction])
    write_frozen(correction, folder)
    frozen = FrozenCorrection.load(folder, environments=3)
    start = world.home(3)
    world.reset(start)
    state, ours, theirs = start, [], []
    columns, rng = correction.contract.columns, np.random.default_rng(0)
    for t in range(STEPS):
        target = start.q + 0.3 * np.sin(t / 6 + np.arange(3)[:, None]) + rng.normal(0, 0.01, (3, 2))
        seen = {"q": state.q, "dq": state.dq, "target": target}
        theirs.append(frozen({k: torch.as_tensor(v) for k, v in seen.items()}).numpy())
        state = world.step(target)
        row = np.zeros_like(state.q)
        row[:, columns] = world.last_output(0)
        ours.append(row)
        if t == STEPS // 2:
            which = np.array([1])
            world.reset(start[which], which)
            frozen.reset(torch.as_tensor(which))
            state = state.with_rows(which, start[which])
    return np.array(ours), np.array(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_torch_gives_what_numpy_gives(
    kind: str, made: Callable[..., Correction], pair: Robot, tmp_path: Path
) -> None:
    """Every network, head, memory and limit, to 1e-5 of the bound."""
    correction = made(**KINDS[kind])
    ours, theirs = replayed(correction, tmp_path, pair)
    assert np.abs(ours).max() > 1e-3
    assert np.abs(ours - theirs).max() < CLOSE * max(1.0, max(correction.contract.bound))


def test_it_needs_nothing_of_gapless(made: Callable[..., Correction], tmp_path: Path) -> None:
    """The folder runs by itself."""
    write_frozen(made(), tmp_path)
    code = (
        "import sys, torch; from frozen_correction import FrozenCorrection as F; "
        "c = F.load('.', 2); z = torch.zeros(2, 2); "
        "print(tuple(c(dict(q=z, dq=z, target=z)).shape), "
        "any(m.split('.')[0] == 'gapless' for m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[0] == "(2, 2) False"
