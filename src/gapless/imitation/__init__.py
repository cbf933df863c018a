"""Imitation: several trackers become one student, a plain network or a flow over short futures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.imitation.imitate_settings import ImitateSettings as ImitateSettings
    from gapless.imitation.imitating import imitate as imitate

_HOME = {"ImitateSettings": "imitate_settings", "imitate": "imitating"}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: asking for settings needs no torch."""
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(import_module(f"gapless.imitation.{_HOME[name]}"), name)
