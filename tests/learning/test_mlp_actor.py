"""Actors of rsl_rl from weights, and weights from actors: the same actions either way."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from double_integrator import DoubleIntegrator, Reach
from gapless.errors import DataError
from gapless.learning.mlp_actor import acts, load_weights, weights_of
from gapless.learning.ppo_progress import arrays_of
from gapless.learning.ppo_settings import PpoSettings
from gapless.learning.world_vec_env import WorldVecEnv
from gapless.policies.mlp_weights import MlpWeights
from small_networks import drawn

SEEN = np.random.default_rng(0).normal(size=(50, 3))


def actor_of(activation: str = "elu", sizes: tuple[int, ...] = (8, 4)):
    """It sees three numbers and gives one."""
    env = WorldVecEnv(DoubleIntegrator(), Reach(4), 4)
    return PpoSettings().actor_of(env, ["policy"], sizes, 0.5, 0, activation)


def network(scaled: bool = True, activation: str = "elu") -> MlpWeights:
    """For that actor."""
    layers = tuple((drawn(a, b).T, drawn(b)) for a, b in pairwise((3, 8, 4, 1)))
    scale = (np.array([1.0, -2.0, 0.5]), np.array([0.5, 2.0, 0.001])) if scaled else ()
    return MlpWeights(layers, activation, *scale)


def test_weights_of_an_actor_act_as_it_does() -> None:
    """With the normalisation that it learned."""
    actor = actor_of()
    for _ in range(5):
        obs = {"policy": torch.as_tensor(3 + 2 * SEEN, dtype=torch.float32)}
        actor.obs_normalizer.update(obs["policy"])
    arrays = arrays_of(actor)
    weights = weights_of(arrays)
    assert weights.sizes == (8, 4) and weights.mean is not None and abs(weights.mean[0] - 3) < 1
    np.testing.assert_allclose(weights(SEEN), acts(actor, arrays, {"policy": SEEN}), atol=1e-6)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("activation", ["elu", "relu", "tanh", "selu"])
def test_a_network_that_is_loaded_acts_as_it_did(scaled: bool, activation: str) -> None:
    """And gives itself back, but for the name of what stands between its layers."""
    actor, weights = actor_of(activation), network(scaled, activation)
    load_weights(actor, weights)
    arrays = arrays_of(actor)
    np.testing.assert_allclose(
        acts(actor, arrays, {"policy": SEEN}), weights(SEEN), rtol=1e-5, atol=1e-6
    )
    again = replace(weights_of(arrays), activation=activation)
    np.testing.assert_allclose(again(SEEN), weights(SEEN), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(again.layers[1][0], weights.layers[1][0])


def test_the_normalisation_of_a_loaded_network_stays() -> None:
    """What its weights were learned with does not drift."""
    actor = actor_of()
    load_weights(actor, network())
    before = arrays_of(actor)
    actor.obs_normalizer.update(torch.full((100, 3), 50.0))
    for name, array in arrays_of(actor).items():
        np.testing.assert_array_equal(array, before[name])


def test_acting_takes_the_weights_that_are_given() -> None:
    """Such as the best of a training, not its last."""
    actor, other = actor_of(), arrays_of(actor_of(sizes=(8, 4)))
    load_weights(actor, network())
    other["mlp.0.bias"] = other["mlp.0.bias"] + 1
    np.testing.assert_allclose(
        acts(actor, other, {"policy": SEEN}), weights_of(other)(SEEN), atol=1e-6
    )


def test_another_size_is_refused() -> None:
    """With both."""
    with pytest.raises(DataError, match=r"network has layers \[\(8, 3\).*actor has \[\(5, 3\)"):
        load_weights(actor_of(sizes=(5,)), network())
