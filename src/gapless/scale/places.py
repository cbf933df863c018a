"""Where tasks run, as it is typed: --on local, local:N, ray or ray://HOST:PORT."""

from __future__ import annotations

import re

from gapless.errors import NameMismatchError
from gapless.tasks import InProcess, Workers

LOCAL, RAY = "local", "ray"
PLACES = "local, local:N, ray or ray://HOST:PORT"


def workers_on(place: str = LOCAL) -> Workers:
    """Whoever does tasks at a place.

    Args:
        place: "local" (this process, one task after the other), "local:N" (N processes of this
            machine, one thread each), "ray" (the cluster that runs here or that RAY_ADDRESS names;
            one is started where there is none) or "ray://HOST:PORT" (a cluster elsewhere).
    """
    if place == LOCAL:
        return InProcess()
    if count := re.fullmatch(rf"{LOCAL}:([1-9]\d*)", place):
        from gapless.scale.local_processes import LocalProcesses

        return LocalProcesses(int(count[1]))
    if place == RAY or re.fullmatch(r"ray://[^/\s:]+:\d+", place):
        from gapless.scale.ray_workers import RayWorkers

        return RayWorkers("" if place == RAY else place)
    raise NameMismatchError(f"--on {place!r} is not understood; expected {PLACES}")
