"""YAML that never runs code: a tag that would is set aside, and the field that has it is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapless.errors import FormatError, MissingExtraError

MAX_BYTES = 1_000_000
MAX_DEPTH = 50


@dataclass(frozen=True)
class SetAside:
    """What stands where a tag would have run code."""

    tag: str


def read_yaml(path: Path) -> Any:
    """The values of a file; tagged ones are `SetAside`."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("pyyaml", "policies", f"reading {path.name}") from None

    class Loader(yaml.SafeLoader):
        """Plain values only."""

    Loader.add_multi_constructor("", lambda _, suffix, __: SetAside(suffix))
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"{path} is larger than {MAX_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
        depth = 0
        for event in yaml.parse(text, Loader=Loader):
            # Anchors that repeat each other are how a small file becomes gigabytes.
            if isinstance(event, yaml.AliasEvent):
                raise FormatError(f"{path} uses YAML aliases; write the values out")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:  # the time to read it grows with the square of this
                raise FormatError(f"{path} nests tables deeper than {MAX_DEPTH}; that is no config")
        loader = Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # dates, endless numbers, UTF-8
        raise FormatError(f"{path} is no valid YAML: {error}") from error


def set_aside(value: Any, where: str = "") -> list[tuple[str, str]]:
    """Field and tag of everything that was set aside."""
    if isinstance(value, SetAside):
        return [(where, value.tag)]
    if not isinstance(value, dict | list):
        return []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [f for key, v in items for f in set_aside(v, f"{where}.{key}" if where else str(key))]
