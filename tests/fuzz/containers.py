"""Files opened, damaged by what they mean, and written again: one function a kind of file."""

from __future__ import annotations

import json
import tomllib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from fuzz.raw_bytes import damaged_bytes, damaged_text
from fuzz.trees import ARRAYS, TEXTS, damaged_array, damaged_tree, odd_value
from gapless.deployment.flight_format import FlightHeader

Damage = Callable[[Path, np.random.Generator], None]


def damage(path: Path, random: np.random.Generator) -> None:
    """Damage a file by its meaning, or, one time in three, by its bytes."""
    kind = KINDS.get(path.suffix.lower(), _text)
    if random.integers(3):
        try:
            return kind(path, random)
        except (TypeError, ValueError, OverflowError, UnicodeError, AttributeError, KeyError):
            pass  # no such file can be written
        except NOT_WRITTEN:
            pass
    path.write_bytes(damaged_bytes(path.read_bytes(), random))


def _text(path: Path, random: np.random.Generator) -> None:
    path.write_bytes(damaged_text(path.read_bytes(), random))


def _json(path: Path, random: np.random.Generator) -> None:
    path.write_text(json.dumps(damaged_tree(json.loads(path.read_text()), random)))


def _toml(path: Path, random: np.random.Generator) -> None:
    if random.integers(3) == 0:
        return _text(path, random)
    tree = damaged_tree(tomllib.loads(path.read_text()), random)
    lines = [f"{json.dumps(k)} = {toml(v)}" for k, v in tree.items()]
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))


def toml(value: Any) -> str:
    """A TOML value; odd text and numbers come out as they are, which may be no TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def _yaml(path: Path, random: np.random.Generator) -> None:
    import yaml

    tree = damaged_tree(yaml.safe_load(path.read_text()), random)
    path.write_text(yaml.safe_dump(tree, sort_keys=False))


def _xml(path: Path, random: np.random.Generator) -> None:
    root = ElementTree.fromstring(path.read_text())
    for _ in range(random.integers(1, 4)):
        _change_element(root, random)
    path.write_text(ElementTree.tostring(root, encoding="unicode"))


def _change_element(root: ElementTree.Element, random: np.random.Generator) -> None:
    every = list(root.iter())
    element, other = (every[random.integers(len(every))] for _ in range(2))
    kind = random.integers(7)
    if kind == 0 and len(element):
        element.remove(element[random.integers(len(element))])
    elif kind == 1 and other not in list(element.iter()) and element is not root:
        other.append(ElementTree.fromstring(ElementTree.tostring(element)))
    elif kind == 2:
        element.tag = other.tag
    elif element.attrib:
        name = list(element.attrib)[random.integers(len(element.attrib))]
        if kind == 3:
            del element.attrib[name]
        elif kind == 4:
            element.attrib[name] = next(iter(other.attrib.values()), "")
        else:
            _change_words(element, name, random)


def _change_words(element: ElementTree.Element, name: str, random: np.random.Generator) -> None:
    words = element.attrib[name].split() or [""]
    spot = random.integers(len(words))
    value: Any = words[spot]
    try:
        value = float(value)
    except ValueError:
        value = str(value)
    words[spot] = str(odd_value(value, random))
    element.attrib[name] = " ".join(words)


def _npz(path: Path, random: np.random.Generator) -> None:
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **_changed(arrays, random))


def _changed(arrays: dict[str, np.ndarray], random: np.random.Generator) -> dict[str, np.ndarray]:
    found = damaged_tree(arrays, random)
    arrays = {str(name): np.asarray(value) for name, value in found.items()}
    return {name: array for name, array in arrays.items() if array.dtype.kind != "O"}


def _pickle(path: Path, random: np.random.Generator) -> None:
    import log_writers
    from gapless.recordings.importers.safe_pickle import read_pickle

    path.write_bytes(log_writers.joblib_bytes(damaged_tree(read_pickle(path), random)))


def _pt(path: Path, random: np.random.Generator) -> None:
    import log_writers
    from gapless.recordings.importers.pace import load_pt

    log_writers.write_pt(path, damaged_tree(dict(load_pt(path)), random))


def _hdf5(path: Path, random: np.random.Generator) -> None:
    import h5py

    with h5py.File(path) as file:
        arrays = {name: np.asarray(file[name]) for name in file}
    with h5py.File(path, "w") as file:
        for name, array in _changed(arrays, random).items():
            file[name] = array.astype("S") if array.dtype.kind == "U" else array


def _csv(path: Path, random: np.random.Generator) -> None:
    if random.integers(3) == 0:
        return _text(path, random)
    lines = path.read_text().splitlines()
    for line in random.integers(len(lines), size=random.integers(1, 4)):
        cells = lines[line].split(",")
        spot = int(random.integers(len(cells)))
        kind = random.integers(4)
        if kind == 0:
            del cells[spot]
        elif kind == 1:
            cells.insert(spot, cells[0])
        else:
            cells[spot] = str(odd_value(0.0 if kind == 2 else cells[spot], random))
        lines[line] = ",".join(cells)
    path.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "surrogatepass"))


def _parquet(path: Path, random: np.random.Generator) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    column = int(random.integers(table.num_columns))
    name, kind = table.column_names[column], random.integers(6)
    if kind == 0:
        table = table.drop_columns([name])
    elif kind == 1:
        names = [*table.column_names]
        names[column] = str(TEXTS[random.integers(len(TEXTS))])
        table = table.rename_columns(names)
    elif kind == 2:
        start = int(random.integers(table.num_rows or 1))
        table = pa.concat_tables([table.slice(start), table.slice(0, int(random.integers(3)))])
    else:
        values = table.column(column).to_pylist()
        for spot in random.integers(len(values) or 1, size=random.integers(1, 4)):
            values[spot] = damaged_tree([values[spot]], random)[0:1] or None
            values[spot] = values[spot][0] if values[spot] else None
            values[spot] = values[spot] if _shallow(values[spot]) else None
        kept = table.schema.field(column).type if kind < 5 else None
        table = table.set_column(column, name, pa.array(values, kept))
    pq.write_table(table, path)


def _shallow(value: object, depth: int = 50) -> bool:
    """Whether Arrow can write a value: it recurses into lists until its stack is full."""
    if not isinstance(value, list | dict):
        return True
    within = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_shallow(each, depth - 1) for each in within)


def _onnx(path: Path, random: np.random.Generator) -> None:
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    graph, kind = model.graph, random.integers(6)
    ports = [*graph.input, *graph.output]
    if kind == 0 and graph.initializer:
        weight = graph.initializer[random.integers(len(graph.initializer))]
        new = damaged_array(numpy_helper.to_array(weight), random)
        weight.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(new), weight.name))
    elif kind == 1 and graph.initializer:
        graph.initializer[0].dims[:] = [int(d) for d in random.choice([-1, 0, 1, 5, 2**40], 2)]
    elif kind == 2:
        node = graph.node[random.integers(len(graph.node))]
        node.op_type = str(random.choice(["Sin", "Loop", "If", "Tile", "Expand", "Reshape", "x"]))
    elif kind == 3:
        port = ports[random.integers(len(ports))]
        for size in port.type.tensor_type.shape.dim:
            size.dim_value = int(random.choice([-1, 0, 1, 2, 2**31]))
    elif kind == 4:
        ports[random.integers(len(ports))].name = str(random.choice(["obs", "actions", "x", ""]))
    else:
        for entry in model.metadata_props:
            if random.integers(3) == 0:
                entry.value = damaged_text(entry.value.encode(), random).decode("utf-8", "replace")
    path.write_bytes(model.SerializeToString())


def _safetensors(path: Path, random: np.random.Generator) -> None:
    from safetensors.numpy import load, save

    arrays = load(path.read_bytes())
    name = list(arrays)[random.integers(len(arrays))]
    if random.integers(4) == 0:
        del arrays[name]
    elif random.integers(2):
        arrays[name] = np.ascontiguousarray(damaged_array(arrays[name], random))
    else:
        arrays[name] = np.ascontiguousarray(
            ARRAYS[random.integers(len(ARRAYS))](arrays[name]), np.float32
        )
    path.write_bytes(save(arrays))


def _rows(path: Path, random: np.random.Generator) -> None:
    """Rows of a flight: some numbers become odd, and the checksum of their row is right again."""
    width = 8 * FlightHeader.read(path.parent).width if path.name.startswith("rows") else 0
    data = bytearray(path.read_bytes())
    if not width:
        return path.write_bytes(damaged_bytes(bytes(data), random)) and None
    for _ in range(random.integers(1, 5)):
        start = (4 + width) * int(random.integers(len(data) // (4 + width)))
        spot = start + 4 + 8 * int(random.integers(width // 8))
        odd = random.choice([np.nan, np.inf, 1e308, -1.0, 2.0**53, 1e15])
        data[spot : spot + 8] = np.array(odd, "<f8").tobytes()
        row = bytes(data[start + 4 : start + 4 + width])
        data[start : start + 4] = zlib.crc32(row).to_bytes(4, "little")
    path.write_bytes(bytes(data))


def _not_written() -> tuple[type[Exception], ...]:
    import pyarrow as pa
    import yaml
    from safetensors import SafetensorError

    from gapless.errors import GaplessError

    return (
        pa.ArrowException,
        yaml.YAMLError,
        SafetensorError,
        GaplessError,
        IndexError,
        RecursionError,
        ElementTree.ParseError,
        NotImplementedError,
    )


NOT_WRITTEN = _not_written()
KINDS: dict[str, Damage] = {
    ".json": _json,
    ".toml": _toml,
    ".yaml": _yaml,
    ".xml": _xml,
    ".urdf": _xml,
    ".npz": _npz,
    ".pkl": _pickle,
    ".pt": _pt,
    ".h5": _hdf5,
    ".csv": _csv,
    ".parquet": _parquet,
    ".onnx": _onnx,
    ".safetensors": _safetensors,
    ".bin": _rows,
}
"""Suffix -> how such a file is damaged by its meaning; any other is text."""
