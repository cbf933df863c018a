"""Where a fit of masses and centres may begin: one linear fit to torques, no simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapless.identification.torques.inverse_dynamics import inertias_from_torque
from gapless.parameters import Parameter
from gapless.recordings.recording import Recording
from gapless.robots import Robot

CENTRES = ("com_x", "com_y", "com_z")


def values_from_torque(
    recordings: Sequence[Recording], robot: Robot, parameters: Sequence[Parameter]
) -> np.ndarray:
    """(P,) values to begin with; what torques do not tell begins at its prior."""
    told = [p for p in parameters if p.kind in ("mass", *CENTRES) and len(p.places) == 1]
    links = list(dict.fromkeys(p.places[0] for p in told))
    found = inertias_from_torque(recordings, robot, links) if links else {}
    values = {p.name: p.prior for p in parameters}
    for p in told:
        own = found[p.places[0]]
        values[p.name] = own.mass if p.kind == "mass" else own.com[CENTRES.index(p.kind)]
    return np.array([min(max(values[p.name], p.lower), p.upper) for p in parameters])
