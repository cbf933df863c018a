"""Dense networks out of ONNX files and into them: the same numbers, and nothing else accepted."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest

import small_networks as nets
from asap_contract import TRACKERS
from gapless.errors import DataError, FormatError, GaplessError
from gapless.policies.mlp_weights import ACTIVATIONS, MlpWeights, mlp_model, read_mlp
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy_contract import Ports

NAMES = ("obs", "actions")
RNG = np.random.default_rng(0)


def network(activation: str = "elu", scaled: bool = True, sizes: tuple[int, ...] = (5, 8, 6, 3)):
    """Random layers; the input is normalised where it is asked for."""
    layers = tuple(
        (nets.drawn(narrow, wide).T, nets.drawn(wide)) for narrow, wide in itertools.pairwise(sizes)
    )
    mean, std = nets.drawn(sizes[0]), 0.5 + np.abs(nets.drawn(sizes[0], seed=1))
    return MlpWeights(layers, activation, mean, std) if scaled else MlpWeights(layers, activation)


def written(path: Path, weights: MlpWeights) -> Path:
    """Its file."""
    path.write_bytes(mlp_model(weights, {"who": "me"}, NAMES))
    return path


def ran(path: Path, seen: np.ndarray) -> np.ndarray:
    """By onnxruntime."""
    runner = OnnxNetwork(path, Ports())
    return runner.run(seen, runner.blank(len(seen)), np.zeros(len(seen), int))[0]


@pytest.mark.parametrize("activation", ACTIVATIONS.values())
@pytest.mark.parametrize("scaled", [True, False])
def test_what_is_written_is_read_and_runs_alike(
    activation: str, scaled: bool, tmp_path: Path
) -> None:
    """Every array to the bit; NumPy and onnxruntime to rounding."""
    weights = network(activation, scaled)
    path = written(tmp_path / "a.onnx", weights)
    again, seen = read_mlp(path), 3 * RNG.normal(size=(40, 5))
    assert again.activation == activation
    assert (again.width, again.sizes, again.outputs) == (5, (8, 6), 3)
    for mine, its in zip(again.layers, weights.layers, strict=True):
        np.testing.assert_array_equal(mine[0], its[0])
        np.testing.assert_array_equal(mine[1], its[1])
    assert (again.mean is None) == (not scaled)
    np.testing.assert_allclose(ran(path, seen), weights(seen), atol=2e-6)
    np.testing.assert_array_equal(again(seen), weights(seen))
    assert OnnxNetwork(path, Ports()).metadata == {"who": "me"}


def test_the_same_weights_give_the_same_bytes() -> None:
    """A file tells nothing of when it was written."""
    assert mlp_model(network(), {}, NAMES) == mlp_model(network(), {}, NAMES)


@pytest.mark.parametrize("name", TRACKERS)
def test_public_trackers_of_asap_are_read(name: str, shared_data: Path) -> None:
    """380 numbers through three hidden layers to 23; as onnxruntime has it."""
    weights = read_asap(shared_data, name)
    assert (weights.width, weights.sizes, weights.outputs) == (380, (512, 256, 128), 23)
    assert weights.activation == "elu" and weights.mean is None
    seen = RNG.normal(size=(3, 380))
    path = shared_data / "policies" / "asap_g1_23dof" / f"{name}.onnx"
    wanted = ran(path, seen)
    np.testing.assert_allclose(weights(seen), wanted, atol=1e-6 * np.abs(wanted).max())


def read_asap(shared_data: Path, name: str) -> MlpWeights:
    """One of ASAP's, where it is on this machine."""
    path = shared_data / "policies" / "asap_g1_23dof" / f"{name}.onnx"
    if not path.is_file():
        pytest.skip("the public policies are not on this machine")
    return read_mlp(path)


@pytest.mark.parametrize("name", ["unitree_rl_lab_g1_velocity", "unitree_rl_mjlab_g1_velocity"])
def test_public_walkers_are_read(name: str, shared_data: Path) -> None:
    """With weights beside the file, and an input that is normalised."""
    path = shared_data / "policies" / name / "policy.onnx"
    if not path.is_file():
        pytest.skip("the public policies are not on this machine")
    weights = read_mlp(path)
    seen = RNG.normal(size=(3, weights.width))
    assert (weights.mean is not None) == ("mjlab" in name)
    np.testing.assert_allclose(ran(path, seen), weights(seen), rtol=1e-4, atol=2e-4)


def graph(path: Path, *steps: tuple[str, ...] | str, attributes: dict | None = None) -> Path:
    """Nodes in a row, each (operator, weight, ...); four numbers wide all along."""
    held = {
        "w": nets.drawn(4, 4),
        "v": nets.drawn(4, 4, seed=1),
        "b": nets.drawn(4),
        "c": nets.drawn(4, seed=2),
        "two": np.float32([2.0]),
        "cube": nets.drawn(1, 4, 4),
    }
    nodes, now = [], "obs"
    for i, step in enumerate(steps):
        kind, *given = (step,) if isinstance(step, str) else step
        out = "actions" if i == len(steps) - 1 else f"x{i}"
        fed = [n.replace("NOW", now) for n in given] if "NOW" in given else [now, *given]
        nodes.append(nets.NODE(kind, fed, [out], **(attributes or {}).get(i, {})))
        now = out
    return nets.save_graph(path, nodes, {"obs": [1, 4]}, {"actions": [1, 4]}, held)


FORMS = {
    "matrices and sums": (("MatMul", "w"), ("Add", "b"), "Relu", ("MatMul", "v"), ("Add", "c")),
    "no bias": (("MatMul", "w"), "Tanh", ("MatMul", "v")),
    "gemm": (("Gemm", "w", "b"), "Elu", ("Gemm", "v", "c")),
    "gemm without bias": (("Gemm", "w"), "Elu", ("Gemm", "v", "two")),
    "only centred": (("Sub", "b"), ("Gemm", "w", "b"), "Elu", ("Gemm", "v", "c")),
    "only divided": (("Div", "two"), ("Gemm", "w", "b"), "Elu", ("Gemm", "v", "c")),
    "both": (("Sub", "b"), ("Div", "two"), ("Gemm", "w", "b"), "Elu", ("Gemm", "v", "c")),
    "idle nodes": ("Flatten", ("Gemm", "w", "b"), "Elu", "Identity", ("Gemm", "v", "c")),
}


@pytest.mark.parametrize("form", FORMS)
def test_other_people_write_the_same_otherwise(form: str, tmp_path: Path) -> None:
    """What is read computes what the file does, and so does what is written of it."""
    path, seen = graph(tmp_path / "a.onnx", *FORMS[form]), RNG.normal(size=(6, 4))
    weights = read_mlp(path)
    wanted = np.concatenate([ran(path, row[None]) for row in seen])
    np.testing.assert_allclose(weights(seen), wanted, atol=2e-6)
    np.testing.assert_allclose(ran(written(tmp_path / "b.onnx", weights), seen), wanted, atol=2e-6)


BODY = (("Gemm", "w", "b"), "Elu", ("Gemm", "v", "c"))
WRONG = {
    "an activation at the end": ((("Gemm", "w"), "Tanh", ("Gemm", "v"), "Tanh"), "2 layers"),
    "two kinds of activation": (
        (("Gemm", "w"), "Tanh", ("Gemm", "v"), "Elu", ("Gemm", "w")),
        "'tanh', 'elu'",
    ),
    "layers without one between": ((("Gemm", "w"), ("Gemm", "v"), "Elu", ("Gemm", "w")), "Gemm"),
    "one layer": ((("Gemm", "w", "b"),), "1 layers"),
    "a sum after an activation": ((("Gemm", "w"), "Elu", ("Add", "b"), ("Gemm", "v")), "Add"),
    "divided, then centred": ((("Div", "two"), ("Sub", "b"), *BODY), "Sub"),
    "divided twice": ((("Div", "two"), ("Div", "two"), *BODY), "Div"),
    "centred late": ((("Gemm", "w"), ("Sub", "b"), "Elu", ("Gemm", "v")), "Sub"),
    "turned round": ((("Sub", "b", "NOW"), *BODY), "Sub takes b, obs"),
    "another operator": ((("Gemm", "w"), "Softplus", ("Gemm", "v")), "Softplus after 1 layers"),
    "weights of three axes": ((("MatMul", "cube"), "Elu", ("Gemm", "v")), "MatMul"),
}


@pytest.mark.parametrize("case", WRONG)
def test_another_function_is_refused(case: str, tmp_path: Path) -> None:
    """Rather than taken for one that it is not; the message says where."""
    steps, told = WRONG[case]
    path = graph(tmp_path / "a.onnx", *steps)
    with pytest.raises(DataError, match=rf"a\.onnx is no chain of dense layers \(.*{told}"):
        read_mlp(path)


@pytest.mark.parametrize("given", [{0: {"alpha": 2.0}}, {1: {"alpha": 0.5}}, {2: {"beta": 0.5}}])
def test_layers_that_scale_are_refused(given: dict, tmp_path: Path) -> None:
    """Of a Gemm and of an Elu alike."""
    with pytest.raises(DataError, match="no chain of dense layers"):
        read_mlp(graph(tmp_path / "a.onnx", *BODY, attributes=given))


def test_recurrent_and_branching_networks_are_refused(tmp_path: Path) -> None:
    """By the node that is not in a row."""
    for make in (nets.leaky, lambda p: nets.lstm(p, 4, 3, 2)):
        with pytest.raises(DataError, match=r"no chain of dense .* without a memory"):
            read_mlp(make(tmp_path / "memory.onnx"))
    with pytest.raises(DataError, match="ReduceMean after 0 layers"):
        read_mlp(nets.mixing(tmp_path / "both.onnx", nets.drawn(4, 3)))
    twice = [nets.NODE("Gemm", ["obs", "w"], ["x"]), nets.NODE("Add", ["x", "obs"], ["actions"])]
    shapes = {"obs": [1, 4]}, {"actions": [1, 4]}
    skip = nets.save_graph(tmp_path / "skip.onnx", twice, *shapes, {"w": nets.drawn(4, 4)})
    with pytest.raises(DataError, match="Add takes x, obs"):
        read_mlp(skip)
    motion = nets.drawn_motion(4, 3, 2)
    with pytest.raises(DataError, match="Cast takes time_step"):
        read_mlp(nets.tracker(tmp_path / "tracker.onnx", 6, motion))


def test_what_is_no_network_is_refused(tmp_path: Path) -> None:
    """Cut short, of another format, empty: never run, never half read."""
    whole = mlp_model(network(), {}, NAMES)
    path = tmp_path / "a.onnx"
    for damaged in (whole[: len(whole) // 2], b"\x80\x04\x95cos\nsystem\n", b"not a network", b""):
        path.write_bytes(damaged)
        with pytest.raises(GaplessError, match=r"a\.onnx"):
            read_mlp(path)
    with pytest.raises(FormatError, match="no ONNX file"):
        read_mlp(tmp_path / "absent.onnx")


def test_a_network_that_names_files_elsewhere_is_refused(tmp_path: Path) -> None:
    """Weights beside a file may not come from outside its folder."""
    folder = tmp_path / "policy"
    folder.mkdir()
    model = onnx.load_model_from_string(mlp_model(network(), {}, NAMES))
    whole = str(tmp_path / "whole.onnx")
    onnx.save(model, whole, save_as_external_data=True, location="w.bin", size_threshold=0)
    outside = onnx.load(whole, load_external_data=False)
    for tensor in outside.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../w.bin"
    (folder / "a.onnx").write_bytes(outside.SerializeToString())
    with pytest.raises(GaplessError, match=r"a\.onnx"):
        read_mlp(folder / "a.onnx")


@pytest.mark.parametrize("bias", [np.zeros(7, np.float32), np.array(["x"] * 8)])
def test_weights_that_do_not_fit_are_refused(bias: np.ndarray, tmp_path: Path) -> None:
    """A bias of another length, or of letters."""
    path = written(tmp_path / "a.onnx", network())
    model = onnx.load(str(path))
    (old,) = (w for w in model.graph.initializer if list(w.dims) == [8])
    old.CopyFrom(onnx.numpy_helper.from_array(bias, old.name))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(GaplessError, match="do not fit"):
        read_mlp(path)
