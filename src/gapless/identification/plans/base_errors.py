"""What the errors of a robot's own figures do to the load that is found on top of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gapless.identification.calibration import Calibration
from gapless.identification.estimate import Estimate
from gapless.identification.problem.posing import problem_of, windows_to_fit
from gapless.recordings.recording import Recording

if TYPE_CHECKING:
    from gapless.identification.plans.fitted import Fit
    from gapless.identification.plans.fitter import Fitter


def with_base_errors(
    found: Fit, base: Calibration, fitter: Fitter, recordings: Sequence[Recording]
) -> Fit:
    """The same load with wider intervals: a gain that is 3 % wrong makes a load 3 % wrong.

    Args:
        found: the load, fitted with the figures of `base` fixed.
        base: the robot as it was identified without a load.
        fitter: that fitted both.
        recordings: that the load was fitted to.
    """
    own = {p.name for p in found.problem.parameters}
    known = np.array([e.name not in own for e in base.estimates])
    if not known.any() or any(p.factor for p in found.problem.parameters):
        return found
    considered = [e for e, k in zip(base.estimates, known, strict=True) if k]
    follows = _sensitivity(found, considered, fitter, recordings)
    std = np.array([e.std / e.parameter.per_z(e.value) for e in considered])
    errors = base.correlation[np.ix_(known, known)] * np.outer(std, std)
    here = found.uncertainty
    covariance = here.correlation * np.outer(here.std, here.std) + follows @ errors @ follows.T
    wide = np.sqrt(np.diag(covariance))
    wider = replace(here, std=wide, correlation=covariance / np.outer(wide, wide))
    return replace(found, uncertainty=wider)


def _sensitivity(
    found: Fit, considered: Sequence[Estimate], fitter: Fitter, recordings: Sequence[Recording]
) -> np.ndarray:
    """(L, B) how far the load would move, in prior std, per prior std of each base figure."""
    parameters = [*found.problem.parameters, *(e.parameter for e in considered)]
    world = fitter.world(recordings[0].rate)
    windows = windows_to_fit(fitter.settings, recordings, world)
    problem = problem_of(fitter.settings, windows, world, parameters)
    problem = problem.with_noise(found.problem.noise)
    z = problem.z_of(np.array([*found.values, *(e.value for e in considered)]))
    if fitter.settings.starts == "free":
        problem = problem.with_free_starts(z)
    information, loads = problem.linearised(z).information, len(found.z)
    own = information[:loads, :loads] + np.eye(loads)
    moved = -np.linalg.solve(own, information[:loads, loads:])
    return np.where(found.uncertainty.identifiable[:, None], moved, 0.0)
