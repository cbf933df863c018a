"""Small ONNX networks of chosen weights, as other people export them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[int | str | None]
NODE = helper.make_node


def save_graph(
    path: Path,
    nodes: list[onnx.NodeProto],
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    weights: Mapping[str, np.ndarray],
    metadata: Mapping[str, str] | None = None,
    kind: int = TensorProto.FLOAT,
) -> Path:
    """A file of these nodes; all inputs and outputs are of one kind."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, dict(metadata or {}))
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
    return path


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    """Weights that give outputs of about one."""
    size = np.random.default_rng([seed, *shape]).normal(size=shape)
    return (size / np.sqrt(max(shape[0], 1))).astype(np.float32)


def linear(
    path: Path,
    weight: np.ndarray,
    bias: np.ndarray | float = 0.0,
    batch: int | str | None = 1,
    names: tuple[str, str] = ("obs", "actions"),
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """actions = obs weight + bias, for one observation at a time or an open number."""
    weight = np.asarray(weight)
    weight = weight if weight.dtype == np.float64 else weight.astype(np.float32)
    kind = TensorProto.DOUBLE if weight.dtype == np.float64 else TensorProto.FLOAT
    seen, acted = names
    weights = {"w": weight, "b": np.broadcast_to(bias, weight.shape[1]).astype(weight.dtype)}
    shapes = {seen: [batch, weight.shape[0]]}, {acted: [batch, weight.shape[1]]}
    return save_graph(
        path, [NODE("Gemm", [seen, "w", "b"], [acted])], *shapes, weights, metadata, kind
    )


def constant(path: Path, width: int, action: Sequence[float], **options: object) -> Path:
    """The same action, whatever is seen."""
    return linear(path, np.zeros((width, len(action))), np.asarray(action), **options)  # type: ignore[arg-type]


def one_row_only(path: Path, weight: np.ndarray) -> Path:
    """A reshape to (1, width) stands before the weights: it cannot take two observations."""
    nodes = [NODE("Reshape", ["obs", "one"], ["row"]), NODE("MatMul", ["row", "w"], ["actions"])]
    weights = {"w": weight.astype(np.float32), "one": np.array([1, len(weight)])}
    shapes = {"obs": [1, len(weight)]}, {"actions": [1, weight.shape[1]]}
    return save_graph(path, nodes, *shapes, weights)


def mixing(path: Path, weight: np.ndarray, batch: int | str = 1) -> Path:
    """The mean over rows stands before the weights: right for one, or for rows that are alike."""
    nodes = [
        NODE("ReduceMean", ["obs"], ["mean"], axes=[0], keepdims=1),
        NODE("Add", ["obs", "mean"], ["twice"]),
        NODE("MatMul", ["twice", "w"], ["actions"]),
    ]
    shapes = {"obs": [batch, len(weight)]}, {"actions": [batch, weight.shape[1]]}
    return save_graph(path, nodes, *shapes, {"w": weight.astype(np.float32)})


def leaky(
    path: Path,
    width: int = 4,
    hidden: int = 3,
    layered: bool = True,
    names: tuple[str, str] = ("h_in", "h_out"),
) -> Path:
    """h = h / 2 + obs weight, which is the action; states (1, 1, H) or (1, H)."""
    before, after = names
    axes = np.array([0])
    nodes = [NODE("MatMul", ["obs", "w"], ["new"]), NODE("Mul", [before, "half"], ["old"])]
    if layered:
        nodes += [
            NODE("Unsqueeze", ["new", "axes"], ["layer"]),
            NODE("Add", ["old", "layer"], [after]),
            NODE("Squeeze", [after, "axes"], ["actions"]),
        ]
    else:
        nodes += [NODE("Add", ["old", "new"], [after]), NODE("Identity", [after], ["actions"])]
    state = [1, 1, hidden] if layered else [1, hidden]
    weights = {"w": drawn(width, hidden), "half": np.float32(0.5), "axes": axes}
    shapes = {"obs": [1, width], before: state}, {"actions": [1, hidden], after: state}
    return save_graph(path, nodes, *shapes, weights)


def lstm(path: Path, width: int, hidden: int, actions: int, layers: int = 2) -> Path:
    """rsl_rl's export: obs, h_in, c_in of (layers, 1, H) -> actions, h_out, c_out."""
    nodes = [NODE("Unsqueeze", ["obs", "axis0"], ["x0"])]
    nodes += [
        NODE("Split", [f"{kind}_in"], [f"{kind}{i}" for i in range(layers)], axis=0)
        for kind in "hc"
    ]
    weights: dict[str, np.ndarray] = {"axis0": np.array([0]), "axis1": np.array([1])}
    for i in range(layers):
        size = width if i == 0 else hidden
        weights[f"w{i}"] = drawn(1, 4 * hidden, size, seed=i) / np.sqrt(size).astype(np.float32)
        weights[f"r{i}"] = drawn(1, 4 * hidden, hidden, seed=9 + i) / np.float32(np.sqrt(hidden))
        fed = [f"x{i}", f"w{i}", f"r{i}", "", "", f"h{i}", f"c{i}"]
        nodes.append(NODE("LSTM", fed, [f"y{i}", f"hn{i}", f"cn{i}"], hidden_size=hidden))
        nodes.append(NODE("Squeeze", [f"y{i}", "axis1"], [f"x{i + 1}"]))
    for kind in "hc":
        parts = [f"{kind}n{i}" for i in range(layers)]
        nodes.append(NODE("Concat", parts, [f"{kind}_out"], axis=0))
    nodes += [
        NODE("Squeeze", [f"x{layers}", "axis0"], ["last"]),
        NODE("MatMul", ["last", "head"], ["actions"]),
    ]
    weights["head"] = drawn(hidden, actions)
    state = [layers, 1, hidden]
    inputs = {"obs": [1, width], "h_in": state, "c_in": state}
    outputs = {"actions": [1, actions], "h_out": state, "c_out": state}
    return save_graph(path, nodes, inputs, outputs, weights)


def tracker(
    path: Path,
    width: int,
    motion: Mapping[str, np.ndarray],
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """BeyondMimic's export: obs and time_step -> actions and the frame of the motion it holds."""
    joints = motion["joint_pos"].shape[1]
    last = np.array(len(motion["joint_pos"]) - 1)
    nodes = [
        NODE("MatMul", ["obs", "w"], ["actions"]),
        NODE("Cast", ["time_step"], ["whole"], to=TensorProto.INT64),
        NODE("Squeeze", ["whole", "axis1"], ["flat"]),
        NODE("Min", ["flat", "last"], ["row"]),
    ]
    nodes += [NODE("Gather", [f"{name}_all", "row"], [name], axis=0) for name in motion]
    weights = {"w": drawn(width, joints), "axis1": np.array([1]), "last": last}
    weights |= {f"{name}_all": array.astype(np.float32) for name, array in motion.items()}
    outputs: dict[str, Shape] = {"actions": [1, joints]}
    outputs |= {name: [1, *array.shape[1:]] for name, array in motion.items()}
    return save_graph(
        path, nodes, {"obs": [1, width], "time_step": [1, 1]}, outputs, weights, metadata
    )


def drawn_motion(frames: int, joints: int, bodies: int, seed: int = 0) -> dict[str, np.ndarray]:
    """A motion that makes no sense, as mjlab and BeyondMimic lay it out."""
    rng = np.random.default_rng(seed)
    quat = rng.normal(size=(frames, bodies, 4))
    return {
        "joint_pos": rng.normal(size=(frames, joints)),
        "joint_vel": rng.normal(size=(frames, joints)),
        "body_pos_w": rng.normal(size=(frames, bodies, 3)),
        "body_quat_w": quat / np.linalg.norm(quat, axis=-1, keepdims=True),
    }
