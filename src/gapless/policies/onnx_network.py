"""OnnxNetwork: a policy's network in onnxruntime, for one robot or many environments at once."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import DataError, FormatError, MissingExtraError
from gapless.policies.network_ports import found_ports
from gapless.policies.policy_contract import Ports

MAX_BYTES = 500_000_000
"""Largest network that is opened."""
TORCH = (".pt", ".pth", ".jit", ".pkl", ".pickle")
"""Endings of files that run code when they are loaded."""


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
        try:
            told = dict(self._session.get_modelmeta().custom_metadata_map)
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: its metadata are no text ({error})") from error
        self.metadata: dict[str, str] = told
        self.ports = found_ports(self.inputs, self.outputs, ports, path)
        for name in self.ports.seen:
            self.inputs[name] = self.inputs[name] or [None, None]
        self._wanted = [self.ports.action, *self.ports.states.values()]
        self._many: Any | None = None
        self._one_by_one = False
        self._require_one_at_a_time()

    def _require_one_at_a_time(self) -> None:
        for name in self.ports.seen:
            shape = self.inputs[name]
            if len(shape) > 1 and isinstance(shape[0], int) and shape[0] != 1:
                raise DataError(
                    f"{self.path} takes {shape[0]} observations at once ({shape}); export it for "
                    "one, or with an open number"
                )
            if len(self.ports.seen) > 1 and _size(shape) is None:
                raise DataError(
                    f"{self.path} leaves the size of {name!r} open ({shape}): how much of the "
                    "observation is for it? Export it with a fixed one"
                )

    @property
    def width(self) -> int | None:
        """Numbers of an observation; None where the graph leaves it open."""
        sizes = [_size(self.inputs[name]) for name in self.ports.seen]
        return None if None in sizes else sum(sizes)  # type: ignore[arg-type]

    @property
    def actions(self) -> int | None:
        """Numbers of an action; None where the graph leaves it open."""
        return _size(self.outputs[self.ports.action])

    def blank(self, environments: int) -> dict[str, np.ndarray]:
        """What a recurrent network remembers before the start: zeros, by input."""
        return {
            name: np.zeros(self._shape(name, environments), self._types[name])
            for name in self.ports.states
        }

    def forget(self, states: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        """Blank what is remembered of some environments, in place."""
        for name, state in states.items():
            np.moveaxis(state, self._axis(name) or 0, 0)[rows] = 0

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
        remembered = {name: np.array(found[out]) for name, out in self.ports.states.items()}
        return np.array(found[self.ports.action], float), remembered

    def motion(self, most: int = 20_000) -> dict[str, np.ndarray]:
        """The reference motion that the network hands out, (T, ...) arrays by name."""
        last = self._frame(10**6)
        frames, end = [], 0
        for step in range(most):
            frame = self._frame(step)
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

    def _frame(self, step: int) -> list[np.ndarray]:
        if self.width is None:
            raise DataError(f"{self.path} does not say how wide its observation is")
        feed = self._feed(np.zeros((1, self.width)), self.blank(1), np.full(1, step))
        try:
            return self._session.run(list(self.ports.motion.values()), self._piece(feed, 0))
        except Exception as error:  # onnxruntime has no common class of its errors
            raise DataError(
                f"{self.path} does not hand out frame {step} of its motion; after the end it must "
                f"give the last: {str(error).splitlines()[0]}"
            ) from error

    def _feed(
        self, observation: np.ndarray, states: Mapping[str, np.ndarray], step: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Every input for n environments: an input without an axis for them has one in front."""
        ports, n = self.ports, len(observation)
        feed, parts = dict(states), [observation]
        if len(ports.seen) > 1:
            ends = np.cumsum([_size(self.inputs[name]) or 0 for name in ports.seen])[:-1]
            parts = np.split(observation, ends, axis=1)
        for name, part in zip(ports.seen, parts, strict=True):
            inner = [d if isinstance(d, int) else 1 for d in self.inputs[name][1:-1]]
            feed[name] = part.reshape(n, *inner, -1)
        if ports.step:
            feed[ports.step] = step.reshape(-1, *[1] * (len(self.inputs[ports.step]) - 1))
        return {name: np.asarray(array, self._types[name]) for name, array in feed.items()}

    def _axis(self, name: str) -> int | None:
        """Along which environments lie, None where there is no such axis.

        States of recurrent layers are (layers, environments, size), some (environments, size).
        """
        shape = self.inputs[name]
        if name not in self.ports.states:
            return 0 if len(shape) > 1 or (name == self.ports.step and shape) else None
        free = [i for i, d in enumerate(shape[:-1]) if not isinstance(d, int)]
        free = free or [i for i, d in enumerate(shape[:-1]) if d == 1]
        return 1 if len(shape) == 3 and 1 in free else next(iter(free), None)

    def _shape(self, name: str, environments: int) -> list[int]:
        axis, shape = self._axis(name), list(self.inputs[name])
        if axis is None:
            shape = [environments, *shape]
        else:
            shape[axis] = environments
        if not all(isinstance(d, int) for d in shape):
            raise DataError(
                f"{self.path} leaves the size of its state {name!r} open ({self.inputs[name]}); "
                "export it with a fixed one"
            )
        return shape

    def _run_many(self, feed: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        if count > 1 and self._many is None and not self._one_by_one:
            self._many = self._batched(feed, count)
            self._one_by_one = self._many is None
        if count == 1 or self._many is None:
            return self._each(feed, count)
        return self._tidied(self._many.run(self._wanted, feed), feed, count)

    def _tidied(
        self, found: list[np.ndarray], feed: Mapping[str, np.ndarray], count: int
    ) -> dict[str, np.ndarray]:
        """Outputs by name: (n, A) actions, states as they are fed again."""
        action, *states = found
        shapes = [feed[name].shape for name in self.ports.states]
        states = [s.reshape(shape) for s, shape in zip(states, shapes, strict=True)]
        return dict(zip(self._wanted, [action.reshape(count, -1), *states], strict=True))

    def _piece(self, feed: Mapping[str, np.ndarray], row: int) -> dict[str, np.ndarray]:
        """What is fed for one environment, in the shapes that the graph asks for."""
        axes = {name: self._axis(name) for name in feed}
        return {
            name: array[row]
            if (axis := axes[name]) is None
            # Of one environment this is all there is.
            else array
            if array.shape[axis] == 1
            else np.take(array, [row], axis=axis)
            for name, array in feed.items()
        }

    def _each(self, feed: dict[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        rows = []
        for k in range(count):
            one = self._piece(feed, k)
            try:
                rows.append(self._tidied(self._session.run(self._wanted, one), one, 1))
            except Exception as error:  # onnxruntime has no common class of its errors
                shapes = ", ".join(f"{name} {list(a.shape)}" for name, a in one.items())
                raise DataError(
                    f"{self.path} does not run on {shapes}: {str(error).splitlines()[0]}"
                ) from error
        back = {out: self._axis(name) for name, out in self.ports.states.items()}
        if count == 1 and None not in back.values():
            return rows[0]
        join = {name: np.stack if back.get(name, 0) is None else np.concatenate for name in rows[0]}
        return {n: join[n]([r[n] for r in rows], axis=back.get(n) or 0) for n in rows[0]}

    def _batched(self, feed: dict[str, np.ndarray], count: int) -> Any | None:
        """The same graph for many at once, where it then says the same; None where it does not."""
        axes = {name: self._axis(name) for name in self.inputs}
        if None in axes.values():
            return None
        fixed = any(isinstance(self.inputs[name][axis], int) for name, axis in axes.items())  # type: ignore[index]
        rows = min(count, 3)
        trial = {name: np.take(a, range(rows), axis=axes[name]) for name, a in feed.items()}
        trial = {name: _unlike(a, name == self.ports.step) for name, a in trial.items()}
        try:
            many = _session(_widened(self.path, axes)) if fixed else self._session  # type: ignore[arg-type]
            got = self._tidied(many.run(self._wanted, trial), trial, rows)
        except Exception:  # whatever a graph of fixed sizes makes of it: it is only a short cut
            return None
        alone = self._each(trial, rows)
        same = (np.allclose(got[n], alone[n], 1e-4, 1e-5, equal_nan=True) for n in self._wanted)
        return many if all(same) else None


def _size(shape: list) -> int | None:
    """Numbers of a row; the first of several axes is that of the rows."""
    inner = shape[1:] if len(shape) > 1 else shape
    return math.prod(inner) if inner and all(isinstance(d, int) for d in inner) else None


def _unlike(array: np.ndarray, counts: bool) -> np.ndarray:
    """Rows that differ: in alike ones a graph that mixes them up would not be seen."""
    rng = np.random.default_rng(0)
    noise = np.arange(array.size) if counts else rng.normal(size=array.size)
    return (array + noise.reshape(array.shape)).astype(array.dtype)


def _session(model: Path | bytes) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("onnxruntime", "policies", "running a policy") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised; a trial that fails is none
    if isinstance(model, Path):
        _refuse_foreign(model)
    source = str(model) if isinstance(model, Path) else model
    try:
        with redirect_stdout(StringIO()):  # where results of commands are, it prints what failed
            return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common class of its errors
        raise FormatError(
            f"{model if isinstance(model, Path) else 'the network'} is no network that onnxruntime "
            f"opens: {str(error).splitlines()[0]}"
        ) from error


def _refuse_foreign(path: Path) -> None:
    """Only ONNX is opened; other formats are refused with the way to convert them."""
    if not os.path.isfile(path):  # a name may be too long to be looked for
        raise FormatError(f"{path} does not exist; check the path")
    size = path.stat().st_size
    if not 0 < size <= MAX_BYTES:
        raise FormatError(
            f"{path} has {size} bytes; a network has more than 0, at most {MAX_BYTES}"
        )
    with path.open("rb") as file:
        start = file.read(20)
    if start.startswith(b"version https://git-"):
        raise FormatError(f"{path} is only a pointer of Git LFS; fetch the file: git lfs pull")
    if path.suffix.lower() in TORCH or start[:2] == b"PK" or start[:1] == b"\x80":
        raise FormatError(
            f"{path} is a TorchScript or pickle file, which may run code when it is loaded. Export "
            "the network where you trained it: torch.onnx.export(model, observation, "
            "'policy.onnx', dynamo=False), a recurrent one with its states as inputs and outputs, "
            "and give that file"
        )


def _dtype(name: str) -> np.dtype:
    kinds = {"float": "float32", "double": "float64", "float16": "float16"}
    inner = name.removeprefix("tensor(").removesuffix(")")
    return np.dtype(kinds.get(inner, inner))


def _widened(path: Path, axes: Mapping[str, int]) -> bytes:
    """The same model with an open number of rows."""
    import onnx

    model = onnx.load(str(path))
    for value in model.graph.input:
        if value.name in axes:  # old files list weights among the inputs
            value.type.tensor_type.shape.dim[axes[value.name]].dim_param = "environments"
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model.SerializeToString()
