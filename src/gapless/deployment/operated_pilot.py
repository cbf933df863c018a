"""OperatedPilot: stages, and who asks for them. A goal is reached by allowed steps only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from gapless.deployment.operators import PilotStatus, StageOperator, StageRequest
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.stage_plan import asked_of
from gapless.deployment.transitions import ALLOWED, DAMP, StagedPilot

PATIENCE = 3.0
"""s that a stage is asked for again where the robot is not fit for it yet."""


class WalkingVelocity:
    """What is asked of a walker, within the range that it was made for."""

    def __init__(self, lower: Sequence[float], upper: Sequence[float]) -> None:
        self._lower, self._upper = np.array(lower, float), np.array(upper, float)
        self.value = np.clip(np.zeros(len(self._lower)), self._lower, self._upper)

    def ask(self, velocity: Sequence[float]) -> None:
        """Walk like that, as far as the walker can."""
        asked = np.zeros(len(self._lower))
        count = min(len(asked), len(velocity))
        asked[:count] = np.asarray(velocity, float)[:count]
        self.value = np.clip(asked, self._lower, self._upper)


class OperatedPilot:
    """A StagedPilot that asks its operators at every control step.

    Args:
        staged: the stages.
        operators: in turn; whoever aborts is heard, whatever others say.
        velocity: that the walker reads.
        finish: called once a run is over.
    """

    def __init__(
        self,
        staged: StagedPilot,
        operators: Sequence[StageOperator],
        velocity: WalkingVelocity,
        finish: Callable[[str], None] = lambda why: None,
    ) -> None:
        self.staged, self.velocity, self.finish = staged, velocity, finish
        self._operators = list(operators)
        self._goal: str | None = None
        self._tries, self._given_up = 0, ""
        self.said, self.lowered = "", False
        self.visited: list[str] = [staged.stage]

    @property
    def asked(self) -> np.ndarray:
        """What the robot is asked now, for its recordings."""
        return asked_of(self.staged.stage, self.lowered, self.velocity.value)

    @property
    def rate(self) -> float:
        """That of the stages."""
        return self.staged.rate

    def begin(self) -> None:
        """Damped."""
        self.staged.begin()

    def first(self) -> JointCommand:
        """Damping."""
        return self.staged.first()

    def observe(self, state: LinkState) -> None:
        """Hear what is asked, go a step towards it, and let the stage see."""
        staged = self.staged
        status = PilotStatus(staged.stage, not staged.blending, self._given_up, staged.rate)
        self._given_up = ""
        requests = [r for operator in self._operators for r in operator.requests(status)]
        for request in requests:
            self._take(request)
        if any(request.abort for request in requests):
            self._abort()
        self._lead()
        staged.observe(state)
        self._note()

    def decide(self) -> JointCommand:
        """The stage's."""
        return self.staged.decide()

    def _take(self, request: StageRequest) -> None:
        if request.stage is not None:
            self._goal, self._tries = request.stage, 0
            self.velocity.ask(request.velocity or (0.0, 0.0, 0.0))
        elif request.velocity is not None:
            self.velocity.ask(request.velocity)
        if request.faster is not None:
            self.velocity.ask((self.velocity.value + np.asarray(request.faster)).tolist())
        self.lowered = self.lowered or request.lowered
        if request.end:
            self.finish("it was asked to end")

    def _abort(self) -> None:
        self._goal, self.said = None, "aborted by the operator"
        self.velocity.ask((0.0, 0.0, 0.0))
        self.staged.abort()

    def _lead(self) -> None:
        """Ask for the next stage on the way to the goal, once this one is reached."""
        staged = self.staged
        if self._goal is None or staged.stage == self._goal:
            self._goal = None
            return
        if self._goal == DAMP:
            staged.request(DAMP)
            return
        way = route(staged.stage, self._goal, staged.stages)
        if way is None:
            self._give_up(f"{self._goal} is not among the stages of this run")
        elif not staged.blending:
            staged.request(way)

    def _note(self) -> None:
        """Where the robot is now; a stage that refuses is asked again, but not for ever."""
        staged = self.staged
        if staged.stage != self.visited[-1]:
            self.visited.append(staged.stage)
            self.said, self._tries = f"{staged.stage} entered", 0
        elif self._goal is not None and staged.refused:
            self._tries += 1
            self.said = f"{self._goal} refused: {staged.refused}"
            if self._tries > PATIENCE * staged.rate:
                self._give_up(staged.refused)

    def _give_up(self, why: str) -> None:
        self.said, self._given_up = f"{self._goal} given up: {why}", why
        self._goal = None


def route(start: str, goal: str, stages: Sequence[str]) -> str | None:
    """The first stage of the shortest allowed way; None where there is none."""
    waiting = deque((step, step) for step in ALLOWED[start] if step in stages and step != DAMP)
    seen = {start}
    while waiting:
        first, here = waiting.popleft()
        if here == goal:
            return first
        seen.add(here)
        waiting += ((first, s) for s in ALLOWED[here] if s in stages and s not in {*seen, DAMP})
    return None
