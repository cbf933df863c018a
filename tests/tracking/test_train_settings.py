"""Settings of a training: what they refuse, and what they come to."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.tracking import TrainSettings
from gapless.tracking.tracking_rewards import ASAP, BEYONDMIMIC


def test_rewards_are_the_presets_but_for_what_is_changed() -> None:
    """By name."""
    assert TrainSettings().weights == ASAP
    assert TrainSettings(preset="beyondmimic").weights == BEYONDMIMIC
    changed = TrainSettings(rewards={"slip": -3.0, "speed": 1.0}).weights
    assert changed == ASAP | {"slip": -3.0, "speed": 1.0}


@pytest.mark.parametrize(("samples", "iterations"), [(1.2e6, 98), (12288, 1), (1, 1), (4e6, 326)])
def test_samples_are_iterations(samples: float, iterations: int) -> None:
    """As near as whole iterations come, and one at least."""
    how = TrainSettings().with_samples(samples)
    assert how.ppo.iterations == iterations
    assert how.samples == 512 * 24 * iterations


def test_they_are_plain_json() -> None:
    """For the folder of a policy, and to tell one training from another."""
    told = json.loads(json.dumps(TrainSettings(actor=(8,)).to_dict()))
    assert told["actor"] == [8] and told["ppo"]["steps"] == 24


NEGATIVE = ("noise", "start_noise", "sensor_noise", "action_noise", "push", "vary", "warm_up")


@pytest.mark.parametrize("name", NEGATIVE)
def test_amounts_below_nothing_are_refused(name: str) -> None:
    """By name."""
    with pytest.raises(DataError, match=f"{name} is -.*; expected"):
        TrainSettings(**{name: -1})


def test_what_cannot_be_is_refused() -> None:
    """Presets, meanings and numbers of environments."""
    with pytest.raises(NameMismatchError, match=r"unknown preset 'asapp'. Did you mean 'asap'"):
        TrainSettings(preset="asapp")
    with pytest.raises(NameMismatchError, match=r"unknown meaning of actions 'torque'"):
        TrainSettings(action="torque")
    with pytest.raises(DataError, match=r"environments=2.*minibatches=4"):
        TrainSettings(environments=2)
    with pytest.raises(DataError, match="iterations=0"):
        replace(TrainSettings(), ppo=replace(TrainSettings().ppo, iterations=0))
    with pytest.raises(DataError, match="vary asks for 9 simulators, environments for 8"):
        TrainSettings(environments=8, vary=9)
