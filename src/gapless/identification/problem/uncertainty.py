"""How well a fit knows its parameters: intervals that own up to model error, and what is not
identifiable."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.model_error import model_error
from gapless.identification.problem.problem import Problem
from gapless.parameters import Parameter

TOLD = 0.5
"""A parameter whose error is above this share of its prior std is not identifiable by the data."""

FAR = 2.0
"""A parameter that many standard deviations from its prior is identifiable, however roughly."""

MOVING = 0.02
"""A joint whose commands stay within this, rad, was not moved."""

AT_REST = ("kp", "encoder_bias", "effort", "compliance")
"""What a joint that stands still may tell: how it sags."""

SCALES, TORQUE_SCALE = ("kp", "effort", "strength"), 0.03
"""Gains and limits of torque are known to no better than this ratio: a gear's flex, a warm motor
and masses that are a little wrong look like another gain, and no log of positions shows them."""

TOUCHING = {
    **dict.fromkeys(("floor_height", "sole_x", "sole_height"), 0.001),
    **dict.fromkeys(("floor_tilt_x", "floor_tilt_y"), 0.004),
}
"""Where things touch is known to no better than this, m or rad: shapes are stand-ins, and contacts
begin between samples."""

BOUND = 1e-3
"""Distance from a bound, in prior std, within which a value counts as being on it."""


@dataclass(frozen=True)
class Uncertainty:
    """What is known about each parameter after a fit, in prior std.

    Attributes:
        std: (P,) 1 sigma.
        correlation: (P, P).
        identifiable: (P,) whether the data identify it.
        at_bound: (P,) whether the fit stopped at a bound.
        precision: (P, P) information of data and priors, model error left out.
        wanted: (P,) where the fit would go if there were no bounds.
        discount: how many readings tell as much as one that is independent of all others would.
    """

    std: np.ndarray
    correlation: np.ndarray
    identifiable: np.ndarray
    at_bound: np.ndarray
    precision: np.ndarray
    wanted: np.ndarray
    discount: float


def uncertainty(problem: Problem, linear: Linear, shared: bool = True) -> Uncertainty:
    """Judge a fit by its slopes at the solution.

    Readings of one window share the model's errors, so that they are not independent. The
    spread of the windows' own gradients (a sandwich estimate, clustered by window) says how
    much less they tell, and so whether they tell at all; what the windows have in common
    (`model_error`), and what no log can tell from a gain, widen the intervals.

    Args:
        problem: what was fitted.
        linear: at the solution.
        shared: False leaves out what windows have in common: enough to say what is identifiable.
    """
    data = linear.information
    seen = np.diag(data) > 1e-12 * max(np.diag(data).max(), 1e-300)
    noise = np.sum(linear.weight * linear.residual**2) / max(problem.readings - len(problem), 1)
    noise = max(noise, (problem.floor / problem.noise) ** 2)
    discount = noise * _clustering(data + 1e-9 * np.eye(len(data)), linear.scores, noise)
    prior = np.eye(len(data))  # whatever its weight in the fit, the prior std is what was known
    told = np.sqrt(np.diag(np.linalg.inv(data / discount + prior)))
    far = np.abs(_weighed(problem, linear, discount)) > FAR * told
    common = model_error(problem, linear) if shared else np.ones(len(data))
    size = np.sqrt(np.maximum(discount, common))
    covariance = np.linalg.inv(data / np.outer(size, size) + prior)
    covariance += np.diag(_unseen(problem) ** 2)
    std = np.sqrt(np.diag(covariance))
    edge = np.minimum(linear.z - problem.lower, problem.upper - linear.z)
    return Uncertainty(
        std=std,
        correlation=covariance / np.outer(std, std),
        identifiable=((told < TOLD) | far) & seen & _excited(problem),
        precision=data / discount + prior,
        at_bound=edge < BOUND,
        wanted=_weighed(problem, linear, 1.0),
        discount=discount,
    )


def _weighed(problem: Problem, linear: Linear, discount: float) -> np.ndarray:
    """(P,) the Gauss-Newton step from here, bounds left out, with data that count that much less.

    A figure that lies many prior std away because thousands of readings repeat one small error
    falls back when they count as what they are.
    """
    slope, curvature = problem.prior_slope(linear.z)
    hessian = linear.information / discount + np.diag(curvature + 1e-9)
    return linear.z - np.linalg.solve(hessian, linear.scores.sum(axis=0) / discount + slope)


def _unseen(problem: Problem) -> np.ndarray:
    """(P,) errors that leave no residuals, in prior std."""

    def size(p: Parameter) -> float:
        return TORQUE_SCALE * p.prior if p.kind in SCALES else TOUCHING.get(p.kind, 0.0)

    return np.array([size(p) / p.prior_std for p in problem.parameters])


def _excited(problem: Problem) -> np.ndarray:
    """(P,) False for figures of motion of a joint that stood still: only noise would speak."""
    commands = problem.windows.commands.target
    moves = np.ptp(commands.reshape(-1, commands.shape[-1]), axis=0) > MOVING
    still = {j for j, m in zip(problem.world.robot.joints.names, moves, strict=True) if not m}
    return np.array([p.joint not in still or p.kind in AT_REST for p in problem.parameters])


def _clustering(information: np.ndarray, scores: np.ndarray, noise: float) -> float:
    """How many times the variance of clustered windows exceeds that of independent readings."""
    count = len(scores)
    if count < 3:
        return 1.0
    centred = scores - scores.mean(axis=0)
    inverse = np.linalg.pinv(information, rcond=1e-8, hermitian=True)
    sandwich = inverse @ (centred.T @ centred) @ inverse * count / (count - 1)
    ratio = np.diag(sandwich) / np.maximum(noise * np.diag(inverse), 1e-300)
    return float(max(1.0, np.quantile(ratio, 0.75)))


def given_fixed(known: Uncertainty, part: Uncertainty) -> Uncertainty:
    """The uncertainty after a second fit of what is identifiable, the rest at its prior.

    The rest may be off by its prior std, and what is identifiable would follow: that widens its
    intervals.

    Args:
        known: of all parameters, from the first fit.
        part: of those that are identifiable, from the second.
    """
    identifiable = known.identifiable
    if identifiable.all():
        return replace(part, identifiable=identifiable)
    held = np.linalg.solve(
        known.precision[np.ix_(identifiable, identifiable)],
        known.precision[np.ix_(identifiable, ~identifiable)],
    )
    covariance = np.eye(len(identifiable))
    own = part.correlation * np.outer(part.std, part.std)
    covariance[np.ix_(identifiable, identifiable)] = own + held @ held.T
    (
        covariance[np.ix_(identifiable, ~identifiable)],
        covariance[np.ix_(~identifiable, identifiable)],
    ) = -held, -held.T
    std, bound, wanted = np.sqrt(np.diag(covariance)), known.at_bound.copy(), known.wanted.copy()
    bound[identifiable], wanted[identifiable] = part.at_bound, part.wanted
    correlation = covariance / np.outer(std, std)
    return replace(known, std=std, correlation=correlation, at_bound=bound, wanted=wanted)
