"""What a policy is asked, as it is typed."""

from __future__ import annotations

from gapless.errors import GaplessError


def read_command(text: str) -> tuple[float, ...]:
    """The numbers of a --command."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise GaplessError(f"--command {text!r} is not understood; expected e.g. 0.5,0,0") from None
