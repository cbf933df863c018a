"""Files: what is written is read back, what is damaged is refused, and no torch is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gapless.corrections import Correction
from gapless.corrections.runtime.correction_files import CONTRACT, WEIGHTS
from gapless.errors import ArtifactError, FormatError
from gapless.verdict import Verdict


@pytest.mark.parametrize("model", ["mlp", "gru", "operator"])
def test_a_correction_is_read_as_it_was_written(made, model: str, tmp_path: Path) -> None:
    """Weights, envelope, contract, figures and fingerprint."""
    from dataclasses import replace

    chosen = Verdict(before=0.02, after=0.01, horizon=1.0, motions=("wave",))
    tested = Verdict(before=0.03, after=0.02, horizon=1.0, motions=("turn", "nod"))
    judged = {"choose": chosen, "test": tested}
    correction = replace(made(model, members=2), **judged, made_by={"trainer": "none"})
    correction.save(tmp_path / "cor")
    again = Correction.load(tmp_path / "cor")
    assert again.contract == correction.contract
    assert (again.choose, again.test) == (chosen, tested)
    assert again.made_by == {"trainer": "none"}
    assert again.fingerprint() == correction.fingerprint()
    assert again.weights.keys() == correction.weights.keys()
    for name, value in correction.weights.items():
        np.testing.assert_array_equal(again.weights[name], value)
    assert again.envelope is not None and correction.envelope is not None
    np.testing.assert_array_equal(again.envelope.whiten, correction.envelope.whiten)
    assert again.envelope.radius == correction.envelope.radius


def test_a_folder_is_not_replaced_unasked(made, tmp_path: Path) -> None:
    """And is replaced where it is asked for."""
    made().save(tmp_path / "cor")
    with pytest.raises(ArtifactError, match="--overwrite"):
        made().save(tmp_path / "cor")
    made(bound=0.1).save(tmp_path / "cor", overwrite=True)
    assert Correction.load(tmp_path / "cor").contract.bound == (0.1, 0.1)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    """Absent ones, empty ones, and those of another kind."""
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(FormatError, match=r"no correction.*gapless correct"):
            Correction.load(path)
    (tmp_path / CONTRACT).write_text(json.dumps({"format": "gapless calibration 1"}))
    with pytest.raises(FormatError, match="not of format"):
        Correction.load(tmp_path)


def cut_short(folder: Path) -> None:
    """Half of the weights."""
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(whole[: len(whole) // 2])


def flip_a_bit(folder: Path) -> None:
    """One weight is another."""
    whole = bytearray((folder / WEIGHTS).read_bytes())
    whole[-3] ^= 1
    (folder / WEIGHTS).write_bytes(bytes(whole))


def edited(**changes: object):
    """The contract with other values."""

    def edit(folder: Path) -> None:
        facts = json.loads((folder / CONTRACT).read_text())
        for key, value in changes.items():
            part = facts["envelope"] if key == "radius" else facts
            part[key] = value
        (folder / CONTRACT).write_text(json.dumps(facts))

    return edit


@pytest.mark.parametrize(
    "damage",
    [
        cut_short,
        flip_a_bit,
        edited(contract=None),
        edited(envelope={"signals": ["q"]}),
        edited(fingerprint="0"),
        edited(radius=1e9),
        lambda folder: (folder / WEIGHTS).unlink(),
        lambda folder: (folder / CONTRACT).write_text("{"),
        lambda folder: (folder / WEIGHTS).write_bytes(b"\x80\x04."),
    ],
)
def test_damaged_folders_are_refused(made, damage, tmp_path: Path) -> None:
    """Every one says which file, and none runs anything."""
    made().save(tmp_path / "cor")
    damage(tmp_path / "cor")
    with pytest.raises(FormatError, match="cor"):
        Correction.load(tmp_path / "cor")


WITHOUT_TORCH = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "rsl_rl", "onnx", "onnxruntime", "tensorboard"):
            raise ModuleNotFoundError(name + " is blocked", name=name)
sys.meta_path.insert(0, Blocked())
import numpy as np
from gapless.corrections import CorrectedWorld, Correction, correct
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.errors import GaplessError
robot = Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])
world = MujocoWorld(robot, 50, physics_step=0.005)
corrections = [Correction.load(path) for path in sys.argv[1:]]
from gapless.recordings.conditions import Conditions
for correction in corrections:
    corrected = CorrectedWorld(world, None, [correction])
    corrected.reset(world.home(2), conditions=[Conditions(payloads={})] * 2)
    state = corrected.step(world.home(2).q)
    assert np.isfinite(state.q).all() and np.abs(corrected.last_output(0)).max() > 0
from gapless.corrections.training import trainer_of
try:
    trainer_of("gradient")
except GaplessError as error:
    assert "gapless[learn]" in str(error), error
else:
    raise SystemExit("a trainer without torch")
assert "torch" not in sys.modules
print("ran", len(corrections))
"""


def test_a_saved_correction_runs_without_torch(made, tmp_path: Path) -> None:
    """NumPy and safetensors are enough; only training needs more, and says so."""
    folders = []
    for model in ("mlp", "gru", "operator"):
        made(model).save(tmp_path / model)
        folders.append(str(tmp_path / model))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *folders], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "ran 3"
