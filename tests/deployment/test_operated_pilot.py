"""Plans, keys and remotes: what they ask is reached by allowed steps only."""

from __future__ import annotations

import json
import os
import socket

import numpy as np
import pytest

from gapless.deployment.operated_pilot import OperatedPilot, WalkingVelocity, route
from gapless.deployment.operators import (
    KeyboardOperator,
    PilotStatus,
    PlanOperator,
    RemoteOperator,
    StageRequest,
    remote_request,
)
from gapless.deployment.stage_plan import asked_in_words, read_plan
from gapless.deployment.transitions import ALLOWED, HoldPilot, PilotStage, StagedPilot
from gapless.errors import GaplessError
from safe_arm import state

TWO = np.ones(2)
STATUS = PilotStatus("stand", True, "", 50.0)


def operated(plan: str, q: float = 0.3, **changes: PilotStage) -> tuple[OperatedPilot, list[str]]:
    """A pilot of four stages under a plan, and how its run ended."""
    stages = {
        "zero": PilotStage(HoldPilot(0 * TWO, TWO, TWO), 0.2),
        "stand": PilotStage(HoldPilot(q * TWO, TWO, TWO), 0.2),
        "locomotion": PilotStage(HoldPilot(q * TWO, TWO, TWO), 0.2),
        "tracking": PilotStage(HoldPilot(q * TWO, TWO, TWO), 0.2, seconds=0.4, then="locomotion"),
    }
    ended: list[str] = []
    velocity = WalkingVelocity((-0.5, -0.5, -1), (0.5, 0.5, 1))
    staged = StagedPilot(stages | changes, TWO, 50)
    return OperatedPilot(staged, [PlanOperator(read_plan(plan))], velocity, ended.append), ended


def fly(pilot: OperatedPilot, ended: list[str], steps: int = 2000) -> list[np.ndarray]:
    """What was asked at every step until the end."""
    asked = []
    for k in range(steps):
        if ended:
            break
        pilot.observe(state(k))
        pilot.decide()
        asked.append(pilot.asked)
    return asked


def test_a_plan_leads_through_every_stage_and_ends_damped() -> None:
    """Zero comes before standing though nobody said it; a tracker hands over by itself."""
    pilot, ended = operated("stand 1, walk 1, lower, walk 1 9 0 0, track, walk 1, damp")
    asked = fly(pilot, ended)
    assert ended and pilot.visited == [
        *("damp", "zero", "stand", "locomotion", "tracking", "locomotion", "damp")
    ]
    words = list(dict.fromkeys(asked_in_words(a) for a in asked))
    assert words == ["zero", "stand", "walk 0 0 0", "walk 0.5 0 0", "track", "damp"]
    fast = [a for a in asked if a[2] == 0.5]  # 9 m/s is beyond what the walker can
    assert len(fast) == pytest.approx(50, abs=2) and all(a[1] == 1 for a in fast)
    assert not asked[0][1] and asked[-1][1]


def test_a_stage_that_refuses_is_left_out_and_the_plan_goes_on() -> None:
    """A robot that walks is not made to fall because it may not kick."""
    far = PilotStage(HoldPilot(9 * TWO, TWO, TWO), distance=0.1, seconds=0.4)
    pilot, ended = operated("walk 1, track, walk 1, damp", tracking=far)
    fly(pilot, ended)
    plan = pilot._operators[0]
    assert isinstance(plan, PlanOperator)
    assert ended and "tracking" not in pilot.visited and pilot.visited[-1] == "damp"
    assert len(plan.skipped) == 1 and "from where it begins" in plan.skipped[0]


def test_a_stage_that_is_not_there_is_given_up_at_once() -> None:
    """Without a tracker nothing is tracked."""
    pilot, ended = operated("stand 1, track")
    del pilot.staged._stages["tracking"]
    fly(pilot, ended)
    assert ended and "not among the stages" in pilot._operators[0].skipped[0]  # type: ignore[attr-defined]


def test_an_abort_damps_with_the_next_command_whatever_others_say() -> None:
    """In the step in which it is heard."""
    pilot, ended = operated("walk 9")
    fly(pilot, ended, 200)
    assert pilot.staged.stage == "locomotion"

    class Aborts:
        def requests(self, status: PilotStatus):
            yield StageRequest(abort=True)
            yield StageRequest("locomotion", (0.5, 0.0, 0.0))

    pilot._operators.append(Aborts())
    pilot.observe(state(999))
    assert pilot.decide().damps and not pilot.velocity.value.any()


@pytest.mark.parametrize("start", ALLOWED)
def test_ways_are_allowed(start: str) -> None:
    """Every first step of a way is in the table, and none leads through damping."""
    for goal in ("zero", "stand", "locomotion", "tracking"):
        way = route(start, goal, tuple(ALLOWED))
        if start == goal:
            continue
        assert way in ALLOWED[start] or (goal == "zero" and way is None)


@pytest.mark.parametrize(
    "plan", ["", "fly 3", "walk x", "walk -1", "walk 3 1", "stand nan", "walk inf", "stand,,walk"]
)
def test_a_plan_that_is_none_is_refused(plan: str) -> None:
    """With what was expected."""
    with pytest.raises(GaplessError, match=r"expected|Known"):
        read_plan(plan)


def test_keys_are_read_without_waiting() -> None:
    """Letters, arrows, and keys that mean nothing."""
    reading, writing = os.pipe()
    keys = KeyboardOperator(reading)
    assert list(keys.requests(STATUS)) == []
    os.write(writing, b"w\x1b[Ax q")
    found = list(keys.requests(STATUS))
    assert found[0].stage == "locomotion" and found[1].faster == (0.1, 0.0, 0.0)
    assert found[2].abort and found[3].end and len(found) == 4
    os.close(reading)
    os.close(writing)


def test_a_remote_is_heard_and_its_silence_stops_the_walk() -> None:
    """What is not understood is counted, and nothing of it is done."""
    remote = RemoteOperator(("127.0.0.1", 0), patience=0.1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for text in (b'{"stage": "walk", "velocity": [0.5, 0, 0]}', b"junk", b'{"stage": "fly"}'):
            sender.sendto(text, remote.address)
        found: list[StageRequest] = []
        for _ in range(1000):
            found += remote.requests(STATUS)
            if remote.misread == 2:
                break
        assert found == [StageRequest("locomotion", (0.5, 0.0, 0.0))] and remote.misread == 2
        silent = [r for _ in range(7) for r in remote.requests(STATUS)]
        assert silent == [StageRequest(velocity=(0.0, 0.0, 0.0))]
    remote.close()


@pytest.mark.parametrize(
    "told",
    [[1], {"stage": 3}, {"velocity": [1, 2]}, {"velocity": "abc"}, {"walk": True}, {"velocity": 1}],
)
def test_a_datagram_that_is_not_understood_is_none(told: object) -> None:
    """Not even the part of it that would be."""
    assert remote_request(json.dumps(told).encode()) is None
    assert remote_request(b"[" * 100_000) is None
