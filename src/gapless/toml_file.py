"""TOML files that people write: read, or said what is wrong with them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from gapless.errors import FormatError

MAX_BYTES = 1_000_000
"""Of a file that somebody typed."""


def _require_numbers(value: Any) -> None:
    """TOML has whole numbers of 64 bits; Python reads longer ones, which are then no floats."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("a whole number of more than 64 bits")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        _require_numbers(each)


def load_toml(path: str | Path, what: str = "TOML file") -> dict[str, Any]:
    """The content of a file; `what` it should be is for the message."""
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"{path} is no {what}: it is larger than {MAX_BYTES} bytes")
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        _require_numbers(found)
        return found
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist; expected a {what}") from None
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is no valid {what}: {error}") from error
