"""Dense networks in ONNX files: their weights out of a file, and into one with its contract."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import DataError, FormatError, MissingExtraError

OPSET, IR = 18, 9
ACTIVATIONS = {"Elu": "elu", "Relu": "relu", "Tanh": "tanh", "Selu": "selu"}
"""ONNX's names of what stands between layers, and rsl_rl's."""


@dataclass(frozen=True)
class MlpWeights:
    """Layers of a network, and what its input is normalised by.

    Attributes:
        layers: (out, in) weights and (out,) biases.
        activation: between layers; rsl_rl's name.
        mean: (in,) subtracted from the input.
        std: (in,) by which it is then divided.
    """

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    activation: str = "elu"
    mean: np.ndarray | None = None
    std: np.ndarray | None = None

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """(n, outputs) of (n, width), in single precision as an exported file computes it."""
        now = np.asarray(observation, np.float32)
        if self.mean is not None and self.std is not None:
            now = (now - np.float32(self.mean)) / np.float32(self.std)
        for i, (matrix, bias) in enumerate(self.layers):
            now = now @ matrix.T + bias
            if i < len(self.layers) - 1:
                now = _active(self.activation, now)
        return now

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the hidden layers."""
        return tuple(len(bias) for _, bias in self.layers[:-1])

    @property
    def width(self) -> int:
        """Numbers of the input."""
        return self.layers[0][0].shape[1]

    @property
    def outputs(self) -> int:
        """Numbers of the output."""
        return len(self.layers[-1][1])


def _active(name: str, values: np.ndarray) -> np.ndarray:
    if name == "relu":
        return np.maximum(values, 0)
    if name == "tanh":
        return np.tanh(values)
    least = np.minimum(values, 0)
    if name == "elu":
        return np.where(values > 0, values, np.expm1(least))
    scale, alpha = np.float32(1.0507009873554805), np.float32(1.6732632423543772)
    return scale * np.where(values > 0, values, alpha * np.expm1(least))


def mlp_model(weights: MlpWeights, metadata: dict[str, str], names: tuple[str, str]) -> bytes:
    """An ONNX file that takes any number of observations.

    Args:
        weights: of the network.
        metadata: of the file, such as its contract.
        names: of the input and the output.
    """
    onnx = _onnx()
    helper, inits, nodes = onnx.helper, [], []

    def constant(name: str, array: np.ndarray) -> str:
        inits.append(onnx.numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    now = names[0]
    if weights.mean is not None and weights.std is not None:
        nodes.append(helper.make_node("Sub", [now, constant("mean", weights.mean)], ["centred"]))
        nodes.append(helper.make_node("Div", ["centred", constant("std", weights.std)], ["scaled"]))
        now = "scaled"
    kind = next(k for k, v in ACTIVATIONS.items() if v == weights.activation)
    for i, (matrix, bias) in enumerate(weights.layers):
        last = i == len(weights.layers) - 1
        out = names[1] if last else f"layer_{i}"
        given = [now, constant(f"weight_{i}", matrix), constant(f"bias_{i}", bias)]
        nodes.append(helper.make_node("Gemm", given, [out], transB=1))
        if not last:
            nodes.append(helper.make_node(kind, [out], [f"active_{i}"]))
            now = f"active_{i}"
    value, number = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "policy",
        [value(names[0], number, ["environments", weights.width])],
        [value(names[1], number, ["environments", weights.outputs])],
        inits,
    )
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=IR, producer_name="gapless")
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def read_mlp(path: Path) -> MlpWeights:
    """The weights of a dense network, whoever exported it.

    Raises:
        DataError: the network is of another kind, and which part of it.
    """
    onnx = _onnx()
    try:
        graph = onnx.load(str(path)).graph
        stored = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    except Exception as error:  # onnx raises whatever its parser meets
        raise FormatError(f"{path} is no ONNX file that can be read: {error}") from error
    try:
        return _chain(list(graph.node), stored, path)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(_other(path, f"its weights do not fit: {error}")) from error


def _chain(nodes: list[Any], stored: dict[str, np.ndarray], path: Path) -> MlpWeights:
    """Follow the nodes, each of which must take what the last one gave, in the one order."""
    layers: list[tuple[np.ndarray, np.ndarray]] = []
    active, scaling, now = [], {}, nodes[0].input[0] if nodes else ""
    for node in nodes:
        kind, held = node.op_type, [stored[name] for name in node.input if name in stored]
        taken = [name for name in node.input if name not in stored]
        if taken != [now] or node.input[0] != now:
            raise DataError(_other(path, f"{kind} takes {', '.join(node.input)}"))
        now, bare = node.output[0], len(layers) > len(active)
        if kind in ("Gemm", "MatMul") and held and not bare:
            layers.append(_layer(node, held, path))
        elif kind == "Add" and bare and len(held) == 1:
            layers[-1] = (layers[-1][0], layers[-1][1] + held[0].reshape(-1))
        elif kind in ("Sub", "Div") and not {kind, "Div"} & {*scaling} and not layers:
            scaling[kind] = held[0].reshape(-1)
        elif kind in ACTIVATIONS and bare and (kind != "Elu" or _number(node, "alpha", 1) == 1):
            active.append(ACTIVATIONS[kind])
        elif kind not in ("Identity", "Flatten"):
            raise DataError(_other(path, f"it has {kind} after {len(layers)} layers"))
    if len(layers) != len(active) + 1 or len(set(active)) != 1:
        raise DataError(_other(path, f"{len(layers)} layers, {active} after them"))
    for (before, _), (after, _) in pairwise(layers):
        if len(before) != after.shape[1]:
            raise DataError(
                _other(path, f"{len(before)} numbers go to a layer that takes {after.shape[1]}")
            )
    return MlpWeights(tuple(layers), active[0], *_scaled(scaling, layers[0][0].shape[1]))


def _scaled(scaling: dict[str, np.ndarray], width: int) -> tuple[np.ndarray, ...]:
    """Mean and standard deviation of the input, where it is normalised."""
    given = scaling.get("Sub", np.zeros(1)), scaling.get("Div", np.ones(1))
    return tuple(np.broadcast_to(v, width).astype(np.float32) for v in given) if scaling else ()


def _layer(node: Any, held: list[np.ndarray], path: Path) -> tuple[np.ndarray, np.ndarray]:
    scaled = any(_number(node, key, 1) != 1 for key in ("alpha", "beta"))
    if scaled or _number(node, "transA") or held[0].ndim != 2:
        raise DataError(_other(path, f"a {node.op_type} that scales or turns its input"))
    matrix = held[0] if _number(node, "transB") else held[0].T
    bias = held[1].reshape(-1) if len(held) > 1 else np.zeros(1)
    wide = np.broadcast_to(bias, len(matrix))
    return np.array(matrix, np.float32), np.array(wide, np.float32)


def _number(node: Any, name: str, usual: float = 0.0) -> float:
    """An attribute of a node; ONNX leaves out what is usual."""
    found = (float(a.i or a.f) for a in node.attribute if a.name == name)
    return next(found, usual)


def _other(path: Path, found: str) -> str:
    return (
        f"{path} is no chain of dense layers ({found}); only such a network can be trained on: "
        "export the actor alone, without a memory"
    )


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "policies", "reading and writing networks") from None
    return onnx
