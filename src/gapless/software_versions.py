"""Results of another MuJoCo: refused, unless whoever asks says that versions may differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gapless.artifact import UNKNOWN, version
from gapless.errors import ArtifactError

_ALLOWED: ContextVar[bool] = ContextVar("version mismatch allowed", default=False)


@contextmanager
def allow_version_mismatch(allowed: bool = True) -> Iterator[None]:
    """Within this, results that another MuJoCo made may be used.

    Parameters and corrections are found in one simulator; in another version of it the same numbers
    may be another robot.
    """
    before = _ALLOWED.set(allowed or _ALLOWED.get())
    try:
        yield
    finally:
        _ALLOWED.reset(before)


def refuse_other_mujoco(made_by: Mapping[str, Any], what: str) -> None:
    """Refuse to use what another MuJoCo made; where either is not known, nothing is said."""
    then, now = made_by.get("mujoco"), version("mujoco")
    if _ALLOWED.get() or then in (None, now, UNKNOWN) or now == UNKNOWN:
        return
    raise ArtifactError(
        f"{what} was made with MuJoCo {then}, this is {now}: the same numbers may be another robot "
        f"here. Install mujoco=={then}, make it again, or use it all the same with "
        "--allow-version-mismatch (in Python, `with gapless.allow_version_mismatch():`)"
    )
