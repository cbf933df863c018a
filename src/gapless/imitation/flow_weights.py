"""A flow from noise to the next few actions: its weights, and its ONNX file.

A flow is a field of velocities that carries noise to actions. The network says where it ends; the
velocity goes there in the time that is left. The noise begins at its mean, so that the same
observation always gives the same action, and the few steps are written out in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.policies.mlp_weights import IR, OPSET, MlpWeights


@dataclass(frozen=True)
class FlowWeights:
    """A network of an observation, a chunk of actions and a time, and how it is integrated.

    Attributes:
        inner: takes the normalised observation, the chunk and the time, and gives a chunk.
        mean: (width,) of observations.
        std: (width,) of them.
        centre: (H * A,) of chunks.
        scale: (H * A,) of them.
        actions: A, of which a chunk has H.
        euler: steps from noise to actions.
    """

    inner: MlpWeights
    mean: np.ndarray
    std: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    actions: int
    euler: int

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """(n, A) the first action of the chunk, in single precision."""
        seen = (np.asarray(observation, np.float32) - self.mean) / self.std
        chunk = np.zeros((len(seen), len(self.centre)), np.float32)
        for k in range(self.euler):
            time = np.full((len(seen), 1), k / self.euler, np.float32)
            end = self.inner(np.concatenate([seen, chunk, time], axis=1))
            chunk = chunk + (end - chunk) / np.float32(self.euler - k)
        return (chunk * self.scale + self.centre)[:, : self.actions]

    @property
    def width(self) -> int:
        """Numbers of an observation."""
        return len(self.mean)


def flow_model(weights: FlowWeights, metadata: dict[str, str], names: tuple[str, str]) -> bytes:
    """An ONNX file that takes any number of observations.

    What the first layer makes of the observation is the same in every step, and computed once.

    Args:
        weights: of the flow.
        metadata: of the file, such as its contract.
        names: of the input and the output.
    """
    import onnx

    graph, value = _FlowGraph(weights, names), onnx.helper.make_tensor_value_info
    number = onnx.TensorProto.FLOAT
    whole = onnx.helper.make_graph(
        graph.nodes,
        "policy",
        [value(names[0], number, ["environments", weights.width])],
        [value(names[1], number, ["environments", weights.actions])],
        graph.constants,
    )
    opset = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(
        whole, opset_imports=opset, ir_version=IR, producer_name="gapless"
    )
    onnx.helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


class _FlowGraph:
    """Nodes and constants of a flow, from one name to the other."""

    def __init__(self, weights: FlowWeights, names: tuple[str, str]) -> None:
        self.nodes: list = []
        self.constants: list = []
        self._weights, size = weights, len(weights.centre)
        (first, bias), *self._rest = weights.inner.layers
        look, chunk, self._time = np.split(first, [weights.width, weights.width + size], axis=1)
        self._constant("chunk_weight", chunk)
        for i, (matrix, own) in enumerate(self._rest, 1):
            self._constant(f"weight_{i}", matrix)
            self._constant(f"bias_{i}", own)
        centred = self._node("Sub", names[0], self._constant("mean", weights.mean))
        seen = self._node("Div", centred, self._constant("std", weights.std))
        given = seen, self._constant("look_weight", look), self._constant("bias_0", bias)
        self._looked = self._node("Gemm", *given, transB=1)
        self._finish(self._integrated(), names[1])

    def _constant(self, name: str, array: np.ndarray) -> str:
        import onnx

        found = onnx.numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name)
        self.constants.append(found)
        return name

    def _node(self, kind: str, *given: str, out: str = "", **settings: Any) -> str:
        import onnx

        out = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, [*given], [out], **settings))
        return out

    def _integrated(self) -> str:
        """The chunk after all steps. It begins at zero, and the first step ends where it points."""
        steps, now = self._weights.euler, ""
        for k in range(steps):
            end = self._end(now, k)
            share = self._constant(f"share_{k}", np.array([1 / (steps - k)]))
            if not now:
                now = self._node("Mul", end, share)
                continue
            way = self._node("Mul", self._node("Sub", end, now), share)
            now = self._node("Add", now, way)
        return now

    def _end(self, chunk: str, k: int) -> str:
        """Where the flow ends, seen from a chunk at the k-th time."""
        when = self._constant(f"when_{k}", self._time[:, 0] * np.float32(k / self._weights.euler))
        now = self._node("Add", self._looked, when)
        if chunk:
            now = self._node("Add", now, self._node("Gemm", chunk, "chunk_weight", transB=1))
        for i in range(1, len(self._rest) + 1):
            active = self._node("Elu", now)
            now = self._node("Gemm", active, f"weight_{i}", f"bias_{i}", transB=1)
        return now

    def _finish(self, chunk: str, name: str) -> None:
        weights, count = self._weights, self._weights.actions
        first = np.eye(len(weights.centre), dtype=np.float32)[:count] * weights.scale
        given = self._constant("first", first), self._constant("centre", weights.centre[:count])
        self._node("Gemm", chunk, *given, out=name, transB=1)
