"""What simulators predicted of a robot under a policy, printed and as figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapless.cli.terminal import console
from gapless.errors import DataError

if TYPE_CHECKING:
    from gapless.evaluation import Scenario
    from gapless.evaluation.policy_episodes import Episodes
    from gapless.policies import Policy
    from gapless.recordings import Recording


def report_prediction(
    log: list[Recording],
    left_out: tuple[str, ...],
    policy: Policy,
    scenario: Scenario,
    played: dict[str, Episodes],
) -> dict[str, object]:
    """Distances of distributions, and the walking velocities where the log says its commands."""
    from gapless.evaluation.closed_loop import compare_closed_loop
    from gapless.evaluation.episode_recordings import episode_recordings
    from gapless.evaluation.walk_prediction import compare_walks, says_commands

    simulated = {
        name: episode_recordings(own, policy.contract, scenario) for name, own in played.items()
    }
    likeness = compare_closed_loop(log, simulated)
    console().print(likeness)
    found: dict[str, object] = {"closed_loop": likeness.to_dict()}
    if not says_commands(log, policy):
        return found
    try:
        walks = compare_walks(policy, log, played, scenario, left_out)
    except DataError as error:
        console().print(f"no walking velocities: {error}")
        return found
    console().print(walks)
    return found | {"walks": walks.to_dict()}
