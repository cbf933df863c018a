"""The envelope: all of a correction inside, less outside, nothing far away."""

from __future__ import annotations

import numpy as np

from gapless.corrections.runtime.envelope import Envelope, watched
from gapless.corrections.training.task import Task
from gapless.corrections.training.training_windows import recorded_signals
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.measurement.windows import windows_of
from gapless.recordings.recording import Recording
from gapless.robots import Robot

SIGNALS = ("q", "dq", "error")


def data(count: int = 4000, seed: int = 0) -> dict[str, np.ndarray]:
    """Samples whose columns go together and have very different sizes."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 2))
    return {"q": q, "dq": 5 * q[:, ::-1] + rng.normal(size=q.shape), "error": 0.1 * q}


def test_most_of_the_data_is_inside() -> None:
    """New data of the same kind is left alone."""
    envelope = Envelope.around(data(), SIGNALS)
    assert (envelope.weight(data(seed=1)) == 1).mean() > 0.98


def test_the_weight_falls_to_nothing_outside() -> None:
    """Steadily, the further the less."""
    envelope = Envelope.around(data(), SIGNALS)
    one = {k: v[:1] for k, v in data().items()}
    far = [{k: v * s for k, v in one.items()} for s in (0.1, 3, 5, 7, 30)]
    weights = np.array([envelope.weight(f)[0] for f in far])
    assert weights[0] == 1
    assert weights[-1] == 0
    assert (np.diff(weights) <= 0).all()


def test_an_unseen_combination_is_outside() -> None:
    """Each column within its range, but not together."""
    envelope = Envelope.around(data(), SIGNALS)
    usual = {"q": np.ones((1, 2)), "dq": np.full((1, 2), 5.0), "error": np.full((1, 2), 0.1)}
    odd = {**usual, "dq": np.full((1, 2), -5.0)}
    assert envelope.weight(usual)[0] == 1
    assert envelope.weight(odd)[0] == 0


def test_what_never_changed_may_change_by_a_hair() -> None:
    """A held joint that trembles is inside, one that moves is not."""
    seen = data()
    seen["q"][:, 1] = 0.3
    envelope = Envelope.around({**seen, "payload": np.zeros((4000, 1))}, (*SIGNALS, "payload"))
    one = {**{k: v.mean(axis=0)[None] for k, v in seen.items()}, "payload": np.zeros((1, 1))}
    trembling = {**one, "q": one["q"] + [[0.0, 0.001]], "payload": np.full((1, 1), 0.01)}
    assert envelope.weight(trembling)[0] == 1
    assert envelope.weight({**one, "q": one["q"] + [[0.0, 0.3]]})[0] == 0
    assert envelope.weight({**one, "payload": np.ones((1, 1))})[0] == 0


def test_what_a_correction_sees_is_watched() -> None:
    """Motion and error always; base and payload where it looks at them."""
    assert watched(("q", "target")) == SIGNALS
    assert watched(("q", "payload", "height")) == (*SIGNALS, "payload", "height")


def test_a_simulator_that_is_off_is_still_inside(task: Task) -> None:
    """The nominal robot starts off the plane in which the recordings lie: it is to be corrected."""
    correction = untrained(contract_for(task.world, 50, model="mlp"), task)
    windows = task.windows(1.0, 40, 3)
    before = windows.before
    play = task.world.rollout(
        windows.start, windows.targets[:, before:], history=windows.targets[:, :before]
    )
    error = windows.targets[:, before:] - play.q[:, :-1]
    assert correction.envelope is not None
    weight = correction.envelope.weight(
        {"q": play.q[:, :-1], "dq": play.dq[:, :-1], "error": error}
    )
    assert (weight == 1).mean() > 0.85


def test_joints_of_their_own_fade_alone() -> None:
    """What one joint does where it never was takes nothing from the other."""
    envelope = Envelope.of_each_joint(data(), SIGNALS)
    assert envelope.width == 6
    far = {k: v.mean(axis=0)[None] + [[0.0, 9.0]] for k, v in data().items()}
    np.testing.assert_array_equal(envelope.weight(far), [[1.0, 0.0]])
    assert (envelope.weight(data(seed=1)) == 1).mean() > 0.98


def test_a_joint_of_its_own_is_an_envelope_of_that_joint() -> None:
    """Cross-check: the same distances as of one ellipsoid around that joint's columns."""
    seen = data() | {"payload": np.random.default_rng(2).uniform(size=(4000, 1))}
    signals = (*SIGNALS, "payload")
    each = Envelope.of_each_joint(seen, signals)
    assert each.width == 7
    other = data(50, seed=1) | {"payload": np.full((50, 1), 0.4)}
    for j in range(2):
        own, given = ({k: v[:, [j]] for k, v in d.items() if k != "payload"} for d in (seen, other))
        alone = Envelope.around(own | {"payload": seen["payload"]}, signals)
        weight = alone.weight(given | {"payload": other["payload"]})
        np.testing.assert_allclose(each.weight(other)[:, j], weight, atol=1e-9)


def test_new_motions_are_inside_joint_by_joint(arms: Robot, clips: list[Recording]) -> None:
    """Of fourteen joints and six seconds another motion leaves one ellipsoid, hardly its joints."""
    few, new = (
        recorded_signals(windows_of(part, arms, 0.5, 99)) for part in (clips[:2], clips[2:])
    )
    flat = [
        {k: s[k].reshape(-1, s[k].shape[-1]) for k in ("q", "dq", "target")} for s in (few, new)
    ]
    learned, other = (s | {"error": s["target"] - s["q"]} for s in flat)
    together = Envelope.around(learned, SIGNALS).weight(other)
    apart = Envelope.of_each_joint(learned, SIGNALS).weight(other)
    assert (together < 1).mean() > 0.5
    assert (apart < 1).mean() < 0.2


def test_a_joint_that_never_moved_has_an_envelope() -> None:
    """Of its own, and finite: a hair inside, a move outside; the other joint is as it was."""
    seen = {k: v * [1.0, 0.0] for k, v in data().items()}
    for envelope in (Envelope.of_each_joint(seen, SIGNALS), _still_alone(seen)):
        assert np.isfinite(envelope.mean).all() and np.isfinite(envelope.whiten).all()
        one = {k: np.zeros((1, v.shape[1])) for k, v in seen.items()}
        assert np.all(envelope.weight(one) == 1)
        moved = {**one, "q": one["q"] + [[0.0, 0.3]]}
        assert envelope.weight(moved)[..., -1] == 0


def _still_alone(seen: dict[str, np.ndarray]) -> Envelope:
    """Of samples in which nothing moves at all."""
    return Envelope.around({k: 0 * v for k, v in seen.items()}, SIGNALS)
