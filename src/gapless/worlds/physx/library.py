"""SAPIEN, the optional package that brings PhysX 5 to Python on the CPU."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any

from gapless.errors import MissingExtraError

PHYSX = "PhysX 5.3.1"
POSITION_ITERATIONS, VELOCITY_ITERATIONS = 8, 2
INTEGRATOR = f"TGS {POSITION_ITERATIONS}/{VELOCITY_ITERATIONS}"


def require_sapien() -> None:
    """Refuse before the work starts where the engine is not installed."""
    if find_spec("sapien") is None:
        raise MissingExtraError("sapien", "physx", "simulating in PhysX")


@cache
def load_sapien() -> Any:
    """The package; nothing is drawn, so its remark on the graphics driver is left out."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*libvulkan", category=UserWarning)
        import sapien
    return sapien


def engine_version() -> str:
    """Versions of the package and of the engine inside it."""
    return f"{load_sapien().__version__} ({PHYSX})"
