"""What a simulator predicts of a robot under a policy, against its log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless import Dataset, HiddenWorld, Policy, Recording, Robot, Scenario
from gapless.errors import DataError
from gapless.evaluation.closed_loop import compare_closed_loop, step_frequency
from gapless.evaluation.episode_recordings import episode_recordings
from gapless.evaluation.policy_episodes import play

ASKED = Scenario(
    episodes=4, seconds=3.0, commands=((0, 0, 0), (0.5, 0, 0)), change_every=0.0, push=0.5
)


@pytest.fixture(scope="module")
def logged(still: Policy, go2: Robot) -> list[Recording]:
    """A hidden robot under the policy."""
    real = HiddenWorld(go2, "typical")
    return episode_recordings(play(still, real, ASKED), still.contract, ASKED, unit="7")


def test_recordings_say_what_was_asked(logged: list[Recording], still: Policy) -> None:
    """The motion is the command, whatever the targets; gains and policy are stated."""
    assert [r.name for r in logged] == ["velocity 0 0 0", "velocity 0.5 0 0"] * 2
    assert logged[0].conditions.policy == "still"
    assert logged[0].conditions.gains == still.contract.gains
    assert logged[0].conditions.unit == "7"


def test_they_are_a_dataset_that_splits_by_command(logged: list[Recording], tmp_path) -> None:
    """Two commands are two motions, whose recordings stay together."""
    Dataset.from_recordings(logged, "go2").save(tmp_path / "data")
    split = Dataset.open(tmp_path / "data").split(test=0.5, choose=0.0)
    assert len(split.learn) == len(split.test) == 2
    assert len({r.name for r in split.test}) == 1


def test_time_is_kept(still: Policy, go2: Robot) -> None:
    """target[t] acts between q[t] and q[t+1]: a step of it moves the robot in the next sample."""
    found = play(still, HiddenWorld(go2, "none"), replace(ASKED, push=0.0, start_noise=0.0))
    (first, *_) = episode_recordings(found, still.contract, ASKED)
    assert np.allclose(first.q, found.states.q[0, : len(first)], atol=1e-5)
    assert np.allclose(first.target, found.targets[0], atol=1e-6)


def test_the_same_is_no_distance_away(logged: list[Recording]) -> None:
    """And what differs more is further away."""
    off = [replace(r, q=r.q + 0.1) for r in logged]
    further = [replace(r, q=r.q + 0.3) for r in logged]
    found = compare_closed_loop(logged, {"same": logged, "off": off, "further": further})
    row = next(r for r in found.rows if r.name == "joint position")
    assert row.distance["same"] == 0
    assert row.distance["off"] == pytest.approx(0.1, abs=1e-6)
    assert row.distance["further"] == pytest.approx(0.3, abs=1e-6)
    assert "strides" in str(found) or "tilt" in str(found)


def test_what_a_log_lacks_is_left_out(logged: list[Recording]) -> None:
    """Encoders alone still give positions and targets."""
    bare = [replace(r, channels={}) for r in logged]
    names = {r.name for r in compare_closed_loop(bare, {"sim": logged}).rows}
    assert {"joint position", "target"} <= names
    assert not {"tilt", "vx", "torque"} & names


def test_a_gait_has_its_frequency(logged: list[Recording]) -> None:
    """1.6 strides a second in, 1.6 out; of a robot that stands, none."""
    time = np.arange(400) / 50
    q = np.tile(0.3 * np.sin(2 * np.pi * 1.6 * time)[:, None], (1, 12))
    clip = Recording("w", logged[0].joints, 50.0, q, None, np.ones(q.shape, bool))
    assert step_frequency(clip) == pytest.approx(1.6, abs=0.05)
    assert step_frequency(replace(clip, q=0 * q)) is None


def test_clips_that_are_too_short_are_refused(logged: list[Recording]) -> None:
    """The first second is not counted."""
    with pytest.raises(DataError, match="nothing is left"):
        compare_closed_loop([r.clip(0, 40) for r in logged], {"sim": logged})


def test_joints_are_matched_by_name(logged: list[Recording]) -> None:
    """A log with its columns in another order, and one joint fewer, is as near as before."""
    order = list(reversed(range(1, 12)))
    turned = [
        replace(
            r,
            joints=tuple(r.joints[i] for i in order),
            q=r.q[:, order],
            target=r.target[:, order],
            mask=r.mask[:, order],
            channels={},
        )
        for r in logged
    ]
    row = compare_closed_loop(turned, {"same": logged}).rows[0]
    assert row.name == "joint position"
    assert row.distance["same"] == 0
