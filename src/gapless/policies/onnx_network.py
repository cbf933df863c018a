"""OnnxNetwork: a policy's network in onnxruntime, for one robot or many environments at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import DataError, FormatError, MissingExtraError
from gapless.policies.network_ports import found_ports
from gapless.policies.policy_contract import Ports

MAX_BYTES = 500_000_000
"""Largest network that is opened."""


class OnnxNetwork:
    """A network and how its inputs and outputs are used.

    Many public networks were exported for one observation at a time. For more, the same graph is
    made to take many; where it gives other numbers then, the observations go through one by one.

    Args:
        path: of the ONNX file; weights may lie beside it.
        ports: names of inputs and outputs; what is left empty is found out.
    """

    def __init__(self, path: Path, ports: Ports) -> None:
        self.path = path
        self._session = _session(path)
        self.inputs = {i.name: list(i.shape) for i in self._session.get_inputs()}
        self.outputs = {o.name: list(o.shape) for o in self._session.get_outputs()}
        self._types = {i.name: _dtype(i.type) for i in self._session.get_inputs()}
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)
        self.ports = found_ports(self.inputs, self.outputs, ports, path)
        self._many: Any | None = None
        self._one_by_one = False

    @property
    def width(self) -> int | None:
        """Numbers of an observation; None where the graph leaves it open."""
        last = self.inputs[self.ports.observation][-1]
        return last if isinstance(last, int) else None

    @property
    def actions(self) -> int | None:
        """Numbers of an action; None where the graph leaves it open."""
        last = self.outputs[self.ports.action][-1]
        return last if isinstance(last, int) else None

    def blank(self, environments: int) -> dict[str, np.ndarray]:
        """What a recurrent network remembers before the start: zeros, by input."""
        return {
            name: np.zeros(self._shape(name, environments), self._types[name])
            for name in self.ports.states
        }

    def run(
        self, observation: np.ndarray, states: Mapping[str, np.ndarray], step: np.ndarray
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """(n, A) actions and what is remembered next.

        Args:
            observation: (n, width).
            states: as `blank` or an earlier `run` gave them.
            step: (n,) control steps since the start, for networks that want them.
        """
        feed = self._feed(observation, states, step)
        found = self._run_many(feed, len(observation))
        remembered = {name: found[out] for name, out in self.ports.states.items()}
        return np.asarray(found[self.ports.action], float), remembered

    def motion(self, most: int = 20_000) -> dict[str, np.ndarray]:
        """The reference motion that the network hands out, (T, ...) arrays by name."""
        wanted = list(self.ports.motion.values())
        last = self._frame(10**6, wanted)
        frames, end = [], 0
        for step in range(most):
            frame = self._frame(step, wanted)
            frames.append(frame)
            if any(not np.array_equal(a, b) for a, b in zip(frame, last, strict=True)):
                end = step + 1
            elif step > end + 200:  # it has come to its last frame, and stays there
                break
        columns = zip(*frames[: end + 1], strict=True)
        return {
            name: np.stack([a[0] for a in column])
            for name, column in zip(self.ports.motion, columns, strict=True)
        }

    def _frame(self, step: int, wanted: list[str]) -> list[np.ndarray]:
        width = self.width
        if width is None:
            raise DataError(f"{self.path} does not say how wide its observation is")
        blank = self._feed(np.zeros((1, width)), self.blank(1), np.full(1, step))
        return self._session.run(wanted, blank)

    def _feed(
        self, observation: np.ndarray, states: Mapping[str, np.ndarray], step: np.ndarray
    ) -> dict[str, np.ndarray]:
        feed = {self.ports.observation: observation, **states}
        if self.ports.step:
            feed[self.ports.step] = step.reshape(-1, *[1] * (self._rank(self.ports.step) - 1))
        return {name: np.asarray(array, self._types[name]) for name, array in feed.items()}

    def _rank(self, name: str) -> int:
        return len(self.inputs[name])

    def _axis(self, name: str) -> int:
        """Along which environments lie: the states of a recurrent layer have layers before."""
        return 1 if name in self.ports.states and self._rank(name) == 3 else 0

    def _shape(self, name: str, environments: int) -> list[int]:
        shape = [d if isinstance(d, int) else 1 for d in self.inputs[name]]
        shape[self._axis(name)] = environments
        return shape

    def _run_many(self, feed: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        names = list(self.outputs)
        if count == 1 or (self._takes_any() and not self._one_by_one):
            return dict(zip(names, self._session.run(names, feed), strict=True))
        if self._many is None and not self._one_by_one:
            self._many = self._batched(feed, count)
            self._one_by_one = self._many is None
        if self._one_by_one:
            return self._each(feed, count)
        return dict(zip(names, self._many.run(names, feed), strict=True))  # type: ignore[union-attr]

    def _takes_any(self) -> bool:
        return all(not isinstance(self.inputs[n][self._axis(n)], int) for n in self.inputs)

    def _each(self, feed: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        names, rows = list(self.outputs), []
        for k in range(count):
            one = {n: np.take(a, [k], axis=self._axis(n)) for n, a in feed.items()}
            rows.append(self._session.run(names, one))
        back = {out: name for name, out in self.ports.states.items()}
        axes = [self._axis(back[name]) if name in back else 0 for name in names]
        joined = (
            np.concatenate(c, axis=a) for c, a in zip(zip(*rows, strict=True), axes, strict=True)
        )
        return dict(zip(names, joined, strict=True))

    def _batched(self, feed: dict[str, np.ndarray], count: int) -> Any | None:
        """The same graph for many at once, where it then says the same; None where it does not."""
        axes = {name: self._axis(name) for name in self.inputs}
        try:
            many = _session(_widened(self.path, axes))
            got = many.run(list(self.outputs), feed)
        except Exception:  # whatever a graph of fixed sizes makes of it: it is only a short cut
            return None
        alone = self._each(feed, count)
        action = dict(zip(self.outputs, got, strict=True))[self.ports.action]
        same = np.allclose(action, alone[self.ports.action], rtol=1e-4, atol=1e-5)
        return many if same else None


def _session(model: Path | bytes) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("onnxruntime", "policies", "running a policy") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if isinstance(model, Path):
        _refuse_foreign(model)
    source = str(model) if isinstance(model, Path) else model
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common class of its errors
        raise FormatError(
            f"{model if isinstance(model, Path) else 'the network'} is no network that onnxruntime "
            f"opens: {str(error).splitlines()[0]}"
        ) from error


def _refuse_foreign(path: Path) -> None:
    """Only ONNX is opened; other formats are refused with the way to convert them."""
    if not path.is_file():
        raise FormatError(f"{path} does not exist; check the path")
    if path.stat().st_size > MAX_BYTES:
        raise FormatError(f"{path} has {path.stat().st_size} bytes; networks may have {MAX_BYTES}")
    start = path.open("rb").read(4)
    if path.suffix.lower() in (".pt", ".pth", ".jit", ".pkl", ".pickle") or start[:2] in (
        b"PK",
        b"\x80\x02",
        b"\x80\x04",
    ):
        raise FormatError(
            f"{path} is a TorchScript or pickle file, which may run code when it is loaded. Export "
            "the network where you trained it: torch.onnx.export(model, observation, "
            "'policy.onnx', dynamo=False), and give that file"
        )


def _dtype(name: str) -> np.dtype:
    kinds = {"float": "float32", "double": "float64", "float16": "float16"}
    inner = name.removeprefix("tensor(").removesuffix(")")
    return np.dtype(kinds.get(inner, inner))


def _widened(path: Path, axes: Mapping[str, int]) -> bytes:
    """The same model with an open number of rows."""
    import onnx

    model = onnx.load(str(path))
    for value in (*model.graph.input, *model.graph.output):
        shape = value.type.tensor_type.shape
        axis = axes.get(value.name, 1 if len(shape.dim) == 3 else 0)
        if len(shape.dim) > axis:
            shape.dim[axis].dim_param = "environments"
    del model.graph.value_info[:]
    return model.SerializeToString()
