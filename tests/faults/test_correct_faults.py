"""Faults 37-44: what goes wrong while a correction is learned, kept or used is told or counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapless.corrections import CorrectedWorld, Correction, CorrectionRefusedError, correct
from gapless.corrections.correcting import CorrectSettings
from gapless.errors import ArtifactError, DataError, GaplessError
from gapless.learning.checkpoint import Checkpoint
from gapless.motions.excitation import multisine
from gapless.progress import Progress
from gapless.recordings import Recording, Split, split_recordings
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from hidden_pair import recorded

torch = pytest.importorskip("torch")

QUICK = CorrectSettings(
    model="mlp",
    members=1,
    horizon=0.5,
    model_settings={"sizes": (16,)},
    trainer_settings={"horizons": (0.3, 0.6), "iterations": 15, "samples": 300},
)


@pytest.fixture(scope="module")
def pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])


@pytest.fixture(scope="module")
def waves(pair: Robot) -> list[Recording]:
    """Motions of the same robot with soft motors."""
    soft = pair.with_joints(kp=0.65 * pair.joints.kp)
    return recorded(soft, [f"wave_{i}" for i in range(5)])


def test_case_37_outside_its_envelope_a_correction_does_nothing(
    pair: Robot, waves: list[Recording]
) -> None:
    """It fades, counts, and the world is the bare one there."""
    correction = correct(waves, pair, keep_anyway=True, settings=QUICK)
    world = MujocoWorld(pair)
    corrected = CorrectedWorld(world, None, [correction])
    start = world.home(1)
    far = np.repeat(start.q[:, None] + 2.5, 3, axis=1)
    np.testing.assert_allclose(corrected.rollout(start, far).q, world.rollout(start, far).q)
    assert corrected.usage[0].to_dict()["outside"] == 1


def test_case_38_leaks_are_refused(pair: Robot, waves: list[Recording]) -> None:
    """A motion that is learned neither chooses nor tests, whatever it is called."""
    renamed = [replace(waves[1], name="another")]
    for judges in ({"choose": renamed}, {"test": renamed}, {"test": waves[1:2]}):
        with pytest.raises(DataError, match=r"wave_1.*part them by what was commanded"):
            correct(Split.of(waves, **judges), pair, settings=QUICK)


def test_case_39_what_does_not_improve_is_refused(pair: Robot) -> None:
    """Nothing is to be learned from the robot itself; --keep-anyway gives it all the same."""
    own = recorded(pair, [f"own_{i}" for i in range(5)], noise=0.0)
    world = MujocoWorld(pair, 50, physics_step=0.005)
    with pytest.raises(CorrectionRefusedError, match=r"does not improve.*--keep-anyway") as caught:
        correct(own, world, settings=QUICK)
    chosen = caught.value.correction.choose
    assert chosen is not None and chosen.after >= chosen.before
    assert isinstance(correct(own, world, keep_anyway=True, settings=QUICK), Correction)


def test_what_nothing_chose_is_refused(pair: Robot, waves: list[Recording]) -> None:
    """Before the training: nothing would say whether it helps; it says what to type."""
    for data in (Split.of(waves[:3]), split_recordings(waves, choose=0.0)):
        with pytest.raises(DataError, match=r"no motion chooses.*--choose.*--keep-anyway"):
            correct(data, pair, settings=QUICK)
    kept = correct(Split.of(waves[:3]), pair, settings=QUICK, keep_anyway=True)
    assert kept.choose is None
    unjudged = str(CorrectionRefusedError(kept))
    assert "no motion chooses" in unjudged and "could not be replayed" in unjudged


def test_case_40_a_loss_that_is_no_number_stops_before_the_update(
    pair: Robot, waves: list[Recording]
) -> None:
    """The weights before it are kept, and the message says what to do."""
    from gapless.corrections.training.learner import Learner, NotFiniteError

    start = correct(waves, pair, keep_anyway=True, settings=QUICK)
    learner = Learner(start, start, 1.0)
    before = {k: v.detach().clone() for k, v in learner.weights.items()}
    weight = next(w for w in learner.weights.values() if w.requires_grad)
    with pytest.raises(NotFiniteError, match=r"nan in round 1, iteration 0.*smaller rate"):
        learner.step((weight * float("nan")).sum(), 1e-3, 10)
    for name, value in learner.weights.items():
        assert torch.equal(value, before[name])


def test_case_41_a_half_written_checkpoint_is_never_read(
    pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """A damaged one is a fresh start with the same result."""
    path = tmp_path / "progress"
    path.write_bytes(b"\x00" * 100)
    fresh = correct(waves, pair, keep_anyway=True, settings=QUICK)
    again = correct(waves, pair, keep_anyway=True, checkpoint=path, settings=QUICK)
    assert again.fingerprint() == fresh.fingerprint()


class StoppedError(Exception):
    """A user's Ctrl-C."""


def stopped(waves: list[Recording], pair: Robot, path: Path) -> None:
    """A training that was stopped in its second round."""

    def stop(now: Progress) -> None:
        if now.share > 0.6 and "loss" in now.figures:
            raise StoppedError

    with pytest.raises(StoppedError):
        correct(waves, pair, keep_anyway=True, checkpoint=path, watch=stop, settings=QUICK)


def test_case_42_a_stopped_training_goes_on_to_the_same_result(
    pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """To the last bit."""
    path = tmp_path / "progress"
    stopped(waves, pair, path)
    resumed = correct(waves, pair, keep_anyway=True, checkpoint=path, settings=QUICK)
    through = correct(waves, pair, keep_anyway=True, settings=QUICK)
    assert resumed.fingerprint() == through.fingerprint()


def test_case_43_another_training_is_not_gone_on_with(
    pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """The message says what differs; --restart starts over."""
    path = tmp_path / "progress"
    stopped(waves, pair, path)
    with pytest.raises(ArtifactError, match=r"'iterations': 15.*'iterations': 14.*--restart"):
        other = {**QUICK.trainer_settings, "iterations": 14}
        correct(waves, pair, checkpoint=path, settings=replace(QUICK, trainer_settings=other))
    with pytest.raises(ArtifactError, match="seed was 0, now 1"):
        correct(waves, pair, checkpoint=path, seed=1, settings=QUICK)
    correct(waves, pair, keep_anyway=True, checkpoint=path, seed=1, restart=True, settings=QUICK)


def test_case_44_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """And nothing is left behind."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ArtifactError, match="cannot write"):
        Checkpoint(tmp_path / "file" / "progress").keep({"w": np.zeros(3)}, {})
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_always_fades_is_refused(pair: Robot, waves: list[Recording]) -> None:
    """Trained in one posture and chosen by motions in another, it says which data are missing."""
    far = MujocoWorld(pair, 50, physics_step=0.005)
    motions = [0.1 * multisine(pair, 3.0, 50, seed=s) + [1.2, -1.2] for s in range(2)]
    starts = [replace(far.home(), q=motion[:1]) for motion in motions]
    elsewhere = [
        record(far, motion, f"far_{i}", start=start)
        for i, (motion, start) in enumerate(zip(motions, starts, strict=True))
    ]
    near = [w.clip(0, 200) for w in waves[:3]]
    for model in ("actuator", "mlp"):
        how = replace(QUICK, model=model)
        with pytest.raises(CorrectionRefusedError, match=r"faded.*Record motions like") as caught:
            correct(Split.of(near, elsewhere), pair, settings=how)
        assert min(caught.value.correction.faded.values()) > 0.5
    kept = correct(Split.of(near, elsewhere), pair, settings=QUICK, keep_anyway=True)
    assert kept.why_faded


def test_too_few_data_are_refused(pair: Robot, waves: list[Recording]) -> None:
    """With the joint mask as a way out."""
    with pytest.raises(DataError, match=r"too few to correct 2 joints.*--joints"):
        correct([w.clip(0, 30) for w in waves], pair, settings=QUICK)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"trainer": "gradiant"}, "Did you mean 'gradient'"),
        ({"model": "mpl"}, "Did you mean 'mlp'"),
        ({"joints": ("elbow",)}, "Did you mean 'elbow_flex'"),
        ({"trainer_settings": {"iteration": 3}}, "Did you mean 'iterations'"),
        ({"model_settings": {"size": 3}}, "Did you mean 'sizes'"),
    ],
)
def test_wrong_settings_are_refused_before_the_work(
    pair: Robot, waves: list[Recording], wrong: dict[str, Any], match: str
) -> None:
    """With the nearest right name."""
    with pytest.raises(GaplessError, match=match):
        correct(waves, pair, settings=replace(QUICK, **wrong))
