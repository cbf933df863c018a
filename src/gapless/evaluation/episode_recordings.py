"""Episodes as recordings and as clips: what a robot under a policy would have logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gapless.evaluation.policy_episodes import Episodes
from gapless.evaluation.scenario import Scenario
from gapless.measurement.side_by_side import SideBySide, Track
from gapless.policies import PolicyContract
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording

LEAST = 1.0
"""An episode that fell sooner is not worth a recording, s."""


BASE = ("base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b")


def episode_recordings(
    episodes: Episodes,
    contract: PolicyContract,
    scenario: Scenario,
    *,
    unit: str | None = None,
    channels: Sequence[str] = BASE,
) -> list[Recording]:
    """What the sensors saw of each episode, up to its fall; what was asked is the motion's name.

    Args:
        episodes: that were played.
        contract: of their policy: its gains are those of the recordings.
        scenario: that they were played in: its loads are those of the recordings.
        unit: of the robot.
        channels: beside positions, velocities and torques; () is a log of encoders alone.
    """
    told = scenario.conditions(contract, episodes.robot)
    told = replace(told, unit=unit, mount=episodes.robot.mount, policy=episodes.policy)
    rows = range(len(episodes.fell))
    found = [episode_recording(episodes, row, told, channels=channels) for row in rows]
    return [recording for recording in found if recording is not None]


def episode_recording(
    episodes: Episodes, row: int, conditions: Conditions, *, channels: Sequence[str] = BASE
) -> Recording | None:
    """One of them; None where it fell too soon to be worth a recording."""
    last = min(int(episodes.fell[row]) - 1, episodes.steps)
    if last < LEAST * episodes.rate:
        return None
    seen = {k: np.asarray(v[row, :last], float) for k, v in episodes.readings.fields.items()}
    # Torque is of the end of a step: a log shows it with the state that follows.
    torque = np.concatenate([episodes.torque[row, :1], episodes.torque[row, : last - 1]])
    changes = [round(float(t / episodes.rate), 6) for t in command_changes(episodes, row)]
    facts = {"source": "policy", "policy": episodes.policy}
    return Recording(
        name=asked(episodes, row),
        joints=episodes.robot.joints.names,
        rate=episodes.rate,
        q=seen["q"],
        target=np.asarray(episodes.targets[row, :last], float),
        mask=np.ones(seen["q"].shape, bool),
        channels={
            "dq": seen["dq"],
            "torque": np.asarray(torque, float),
            **{k: seen[k] for k in channels if k in seen},
        },
        conditions=conditions,
        provenance=facts | ({"command_changes": changes} if changes else {}),
    )


def command_changes(episodes: Episodes, row: int) -> list[int]:
    """Steps of an episode at which something else was asked than before."""
    changed = np.zeros(max(episodes.steps - 1, 0), bool)
    for values in episodes.commands.values():
        changed |= (np.diff(values[row], axis=0) != 0).any(axis=-1)
    return [int(t) for t in np.flatnonzero(changed) + 1]


def asked(episodes: Episodes, row: int) -> str:
    """What an episode was asked to do, as the name of its motion."""
    parts = []
    for name, values in episodes.commands.items():
        changes = np.flatnonzero((np.diff(values[row], axis=0) != 0).any(axis=-1)) + 1
        parts.append(f"{name} {in_words(values[row][[0, *changes]])}")
    return "; ".join(parts) or episodes.policy


def in_words(commands: np.ndarray) -> str:
    """(k, C) commands, one after the other, as the names of motions say them."""
    rows = np.round(np.asarray(commands, float), 3) + 0.0
    return ", then ".join(" ".join(f"{v:g}" for v in row) for row in rows)


def in_numbers(name: str) -> tuple[tuple[float, ...], ...] | None:
    """The commands that the name of a motion says (see `asked`); None where it says none."""
    words = name.split(";")[0].strip().split(" ", 1)
    try:
        found = [tuple(map(float, part.split())) for part in words[-1].split(", then ")]
    except ValueError:
        return None
    alike = len({len(command) for command in found}) == 1 and bool(found[0])
    return tuple(found) if alike else None


def side_by_side_episode(played: Mapping[str, Episodes], row: int, title: str) -> SideBySide:
    """One episode in several worlds, on one clock; after a fall there is nothing to see.

    Args:
        played: name -> the same scenario in another world.
        row: which episode.
        title: of the clip.
    """
    first = next(iter(played.values()))
    length = 1 + max(min(int(e.fell[row]), e.steps) for e in played.values())
    tracks = {name: _track(episodes, row, length) for name, episodes in played.items()}
    target = np.full((length, first.targets.shape[-1]), np.nan)
    longest = max(played.values(), key=lambda e: e.fell[row])
    steps = min(length - 1, longest.steps)
    target[:steps] = longest.targets[row, :steps]
    return SideBySide(
        name=title,
        unit=None,
        payload=None,
        joints=first.robot.joints.names,
        rate=first.rate,
        horizon="full",
        target=target,
        tracks=tracks,
    )


def _track(episodes: Episodes, row: int, length: int) -> Track:
    """Up to the moment of the fall; the robot lies as it fell from then on."""
    rows = np.minimum(np.arange(length), min(int(episodes.fell[row]), episodes.steps))
    states = episodes.states
    assert states.base_pos is not None and states.base_quat_wxyz is not None
    return Track(states.q[row, rows], states.base_pos[row, rows], states.base_quat_wxyz[row, rows])
