"""What a long command needs is asked for before it begins, all of it in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from gapless.errors import GaplessError


def require_extras(what: str, needed: Mapping[str, str]) -> None:
    """Refuse to begin where a module is not installed; `needed` says which extra brings each."""
    missing = {module: extra for module, extra in needed.items() if find_spec(module) is None}
    if missing:
        extras = ", ".join(dict.fromkeys(missing.values()))
        raise GaplessError(
            f"{what} needs {', '.join(missing)} (of the extras {extras}), and nothing was begun. "
            "One command brings all of them: pip install 'gapless[all]'"
        )
