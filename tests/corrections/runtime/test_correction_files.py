"""Files: what is written is read back, what is damaged is refused, and no torch is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.corrections import Correction
from gapless.corrections.runtime.correction_files import CONTRACT, WEIGHTS
from gapless.corrections.runtime.envelope import Envelope
from gapless.corrections.training.task import Task
from gapless.corrections.training.training_windows import recorded_signals
from gapless.errors import ArtifactError, FormatError
from gapless.verdict import Verdict


@pytest.mark.parametrize("model", ["mlp", "gru", "operator", "actuator"])
def test_a_correction_is_read_as_it_was_written(made, model: str, tmp_path: Path) -> None:
    """Weights, envelope, contract, figures and fingerprint."""
    chosen = Verdict(before=0.02, after=0.01, horizon=1.0, motions=("wave",))
    tested = Verdict(before=0.03, after=0.02, horizon=1.0, motions=("turn", "nod"))
    judged = {"choose": chosen, "test": tested}
    correction = replace(made(model, members=2), **judged, made_by={"trainer": "none"})
    correction = replace(correction, faded={"elbow_flex": 0.25})
    correction.save(tmp_path / "cor")
    again = Correction.load(tmp_path / "cor")
    assert again.contract == correction.contract
    assert (again.choose, again.test) == (chosen, tested)
    assert again.made_by == {"trainer": "none"}
    assert again.faded == {"elbow_flex": 0.25}
    assert again.fingerprint() == correction.fingerprint()
    assert again.weights.keys() == correction.weights.keys()
    for name, value in correction.weights.items():
        np.testing.assert_array_equal(again.weights[name], value)
    assert again.envelope is not None and correction.envelope is not None
    np.testing.assert_array_equal(again.envelope.whiten, correction.envelope.whiten)
    assert again.envelope.radius == correction.envelope.radius


def test_folders_of_the_first_format_are_read(made, task: Task, tmp_path: Path) -> None:
    """Networks of single joints had one envelope for all joints, and none said how it faded."""
    found = made("actuator")
    signals = {k: v.reshape(-1, v.shape[-1]) for k, v in _seen(task).items()}
    old = replace(found, envelope=Envelope.around(signals, ("q", "dq", "error")))
    old.save(tmp_path / "old")
    facts = json.loads((tmp_path / "old" / CONTRACT).read_text())
    del facts["faded"]
    facts["format"] = "gapless correction 1"
    (tmp_path / "old" / CONTRACT).write_text(json.dumps(facts))
    again = Correction.load(tmp_path / "old")
    assert again.fingerprint() == old.fingerprint() and not again.why_faded
    now = {k: v[::50] for k, v in signals.items()}
    given, before = (c.act(now, c.begun(now)) for c in (again, old))
    np.testing.assert_array_equal(given.output, before.output)
    np.testing.assert_array_equal(given.weight[:, 0], given.weight[:, 1])
    facts["format"] = "gapless correction 3"
    (tmp_path / "old" / CONTRACT).write_text(json.dumps(facts))
    with pytest.raises(FormatError, match=r"not of format.*1.*2"):
        Correction.load(tmp_path / "old")


def _seen(task: Task) -> dict[str, np.ndarray]:
    seen = recorded_signals(task.windows(1.0, 40))
    seen = {k: seen[k] for k in ("q", "dq", "target")}
    return seen | {"error": seen["target"] - seen["q"]}


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


def reshape(folder: Path) -> None:
    """A matrix on its side: the same names and bytes."""
    from safetensors.numpy import load, save

    arrays = load((folder / WEIGHTS).read_bytes())
    name = next(k for k, v in arrays.items() if v.shape != v.shape[::-1])
    arrays[name] = arrays[name].reshape(arrays[name].shape[::-1])
    (folder / WEIGHTS).write_bytes(save(arrays))


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
        reshape,
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
