"""`--correction-use`: a policy beside the same one that undoes the correction of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.cli.terminal import console
from gapless.errors import DataError, GaplessError

if TYPE_CHECKING:
    from gapless.closing import Run
    from gapless.corrections.runtime.correction import Correction
    from gapless.evaluation import Scenario
    from gapless.evaluation.inverted_policy import InvertedPolicy
    from gapless.policies import Policy
    from gapless.robots import Robot

USE = "invert"


def read_use(text: str) -> str:
    """The way to invert of `invert[:fixed-point|:gradient]`."""
    from gapless.corrections.runtime.inversion import METHODS

    use, _, method = text.partition(":")
    if use != USE or (method and method not in METHODS):
        known = ", ".join((USE, *(f"{USE}:{m}" for m in METHODS)))
        raise GaplessError(f"--correction-use {text!r} is not known; expected one of {known}")
    return method or METHODS[0]


def correction_to_use(opened: Run | None) -> Correction:
    """That of a run."""
    correction = None if opened is None else opened.correction
    if correction is None:
        raise DataError(
            "--correction-use needs a --run whose correction was kept; see gapless close --help"
        )
    return correction


def inverted(
    policy: Policy, opened: Run | None, robot: Robot, scenario: Scenario, use: str
) -> InvertedPolicy:
    """The policy that undoes the correction of a run."""
    from gapless.evaluation.inverted_policy import InvertedPolicy

    carried = scenario.conditions(policy.contract, robot).payload_mass
    return InvertedPolicy.of(policy, correction_to_use(opened), read_use(use), carried)


def report_inversions(found: dict[str, InvertedPolicy]) -> dict[str, Any]:
    """How often a command was found; the numbers of all by name."""
    counts = {name: policy.count.to_dict() for name, policy in found.items()}
    for name, count in counts.items():
        console().print(
            f"{Path(name).name}: {count['solved']} commands found, {count['mean_change_rad']:.3f} "
            f"rad from the policy's own on average; {count['fell_back']} not found "
            f"({count['share_fell_back']:.1%}), there the policy's own were sent",
            soft_wrap=True,
        )
    return counts
