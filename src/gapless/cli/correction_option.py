"""What commands share that train or use corrections: calibrations and settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.errors import GaplessError, unknown

if TYPE_CHECKING:
    from gapless.corrections import CorrectedWorld
    from gapless.identification import Calibration


def calibration_of(file: Path | None, loaded: bool = False) -> Calibration | None:
    """The calibration that a command is given, where it is.

    Args:
        file: of gapless identify.
        loaded: that of the robot with the load which two stages found.
    """
    if file is None:
        if loaded:
            raise GaplessError("--loaded needs --calibration FILE, made with --plan two-stage")
        return None
    from gapless.identification import Calibration

    found = Calibration.load(file)
    if loaded and found.loaded is None:
        raise GaplessError(f"{file} has no load; it is made with --plan two-stage")
    return found.loaded if loaded else found


def settings_of(option: str, texts: Sequence[str], usual: Any) -> dict[str, Any]:
    """KEY=VALUE pairs of an option; a value is a JSON literal, or a plain word.

    Args:
        option: its name, for messages.
        texts: as typed.
        usual: the model or trainer with its usual settings, whose fields these are.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise GaplessError(f"--{option} {text!r} is not understood; expected KEY=VALUE")
        if not hasattr(usual, name):
            raise unknown(f"setting (--{option})", name, vars(usual))
        found[name] = _like(getattr(usual, name), literal(value), option, text)
    return found


def literal(text: str) -> Any:
    """A JSON literal, or the text itself where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _like(usual: Any, value: Any, option: str, text: str) -> Any:
    """A value of the kind that is usual for its setting."""
    if usual is None:
        return tuple(value) if isinstance(value, list) else value
    kind = {float: (int, float), tuple: list, list: list}.get(type(usual), type(usual))
    if not isinstance(value, kind) or isinstance(value, bool) != isinstance(usual, bool):
        raise GaplessError(f"--{option} {text!r}: expected a value such as {_shown(usual)}")
    return tuple(value) if isinstance(value, list) else value


def _shown(usual: Any) -> str:
    return json.dumps(usual) if isinstance(usual, str | int | float | tuple | list) else str(usual)


def usage_figures(world: CorrectedWorld) -> list[dict[str, Any]]:
    """What each correction of a world did, as plain JSON types."""
    pairs = zip(world.corrections, world.usage, strict=True)
    return [{"fingerprint": c.fingerprint(), **usage.to_dict()} for c, usage in pairs]
