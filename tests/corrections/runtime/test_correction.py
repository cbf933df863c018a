"""A correction acts step by step, on as many environments as there are."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.corrections.runtime.correction import Correction
from gapless.errors import DataError


def signals(environments: int, seed: int = 0, payload: float = 0.0) -> dict[str, np.ndarray]:
    """Signals near home."""
    rng = np.random.default_rng(seed)
    found = {k: 0.01 * rng.normal(size=(environments, 2)) for k in ("q", "dq", "target")}
    return {**found, "payload": np.full((environments, 1), payload)}


def test_copies_do_not_touch_each_other(made) -> None:
    """One alone gives what it gives in a batch."""
    correction: Correction = made("operator")
    now = signals(5)
    together = correction.act(now, correction.begun(now))
    alone = {k: v[2:3] for k, v in now.items()}
    one = correction.act(alone, correction.begun(alone))
    np.testing.assert_allclose(one.output[0], together.output[2], atol=1e-7)


def test_those_not_asked_keep_their_output(made) -> None:
    """And remember the frame all the same."""
    correction: Correction = made()
    first = correction.act(signals(3), correction.begun(signals(3)))
    second = correction.act(signals(3, 1), first.memory, np.array([True, False, True]))
    np.testing.assert_array_equal(second.output[1], first.output[1])
    assert np.abs(second.output[0] - first.output[0]).max() > 0
    np.testing.assert_array_equal(second.memory.frames[-1]["q"], signals(3, 1)["q"])


def test_an_ensemble_says_how_unsure_it_is(made) -> None:
    """The output is the mean of its members, the spread their deviation."""
    correction: Correction = made(members=4)
    now = signals(2)
    network = correction.network
    full = network.completed(now, None)
    memory = network.begun(full, 2)
    outputs, _ = network.propose(correction.weights, full, memory)
    acted = correction.act(now, memory)
    np.testing.assert_allclose(acted.output, outputs.mean(axis=0) * acted.weight)
    np.testing.assert_allclose(acted.spread, outputs.std(axis=0))
    assert acted.spread.min() > 0


def test_an_unknown_payload_is_refused_where_it_is_looked_at(made) -> None:
    """An operator with payload asks what is carried, one without does not."""
    now = signals(1, payload=np.nan)
    asks: Correction = made("operator")
    with pytest.raises(DataError, match=r"payload.*conditions"):
        asks.act(now, asks.begun(now))
    blind: Correction = made("operator", payload=False)
    assert np.isfinite(blind.act(now, blind.begun(now)).output).all()


def test_the_fingerprint_is_of_what_decides_the_outputs(made) -> None:
    """Weights, bounds and the envelope; not who made it."""
    from dataclasses import replace

    correction: Correction = made()
    assert replace(correction, made_by={"who": "me"}).fingerprint() == correction.fingerprint()
    name = next(iter(correction.weights))
    other = correction.with_weights({**correction.weights, name: correction.weights[name] + 1})
    assert correction.envelope is not None
    wider = replace(correction, envelope=replace(correction.envelope, radius=99.0))
    assert len({c.fingerprint() for c in (correction, other, wider, made(bound=0.1))}) == 4
