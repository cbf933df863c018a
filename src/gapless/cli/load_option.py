"""Loads as people type them: LINK=KG, or LINK=KG@X,Y,Z."""

from __future__ import annotations

import math

from gapless.errors import GaplessError
from gapless.robots.payload import Payload


def read_load(text: str) -> tuple[str, Payload]:
    """The link and what it carries."""
    link, _, rest = text.partition("=")
    mass, _, place = rest.partition("@")
    try:
        numbers = [float(mass), *(float(v) for v in place.split(",") if place)]
        if len(numbers) not in (1, 4) or not all(map(math.isfinite, numbers)) or numbers[0] < 0:
            raise ValueError
    except ValueError:
        raise GaplessError(
            f"--payload {text!r} is not understood; expected LINK=KG with 0 kg or more, or "
            "LINK=KG@X,Y,Z"
        ) from None
    kg, *at = numbers
    return link, Payload(kg, (at[0], at[1], at[2]) if at else None)
