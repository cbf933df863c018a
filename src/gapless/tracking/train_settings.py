"""Settings of a tracker's training, and the presets of the papers."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gapless.errors import DataError, unknown
from gapless.learning.ppo_settings import PpoSettings
from gapless.tracking.tracking_contract import ACTIONS
from gapless.tracking.tracking_rewards import ASAP, BEYONDMIMIC
from gapless.tracking.variation_ranges import INTERVALS, RANGES

REWARDS = {"asap": ASAP, "beyondmimic": BEYONDMIMIC}


@dataclass(frozen=True)
class TrainSettings:
    """How a tracker is trained.

    Attributes:
        preset: asap or beyondmimic: what the policy sees, and what a step is worth.
        action: residual (around the reference) or default (around the default pose).
        environments: at once.
        actor: hidden sizes.
        noise: standard deviation of actions to begin with.
        start_noise: share of ASAP's noise of starts.
        sensor_noise: share of ASAP's noise of what is seen; 0 is none.
        action_noise: rad, uniform within plus and minus, added to targets.
        push: speed given to the base at once, m/s.
        vary: how many simulators that differ; 0 is the one alone. Calibrated ones differ within
            the 95 % intervals of their parameters, nominal ones as in Table VI of ASAP.
        ranges: with `vary`, instead of these: a name of `RANGES` (asap, narrow, wide), or
            "intervals".
        distance: of any body from its reference at which an episode ends, to begin with, m.
        penalties: share of the penalties that counts, to begin with.
        tightening: how fast the termination tightens; see `Curricula.speed`.
        warm_up: iterations in which only the critic learns.
        trim: rounds of least squares on a few numbers of a policy that is good already, before
            PPO; fewer where they would take more than half of the control steps.
        rewards: weights that differ from the preset's.
        ppo: of the algorithm.
    """

    preset: str = "asap"
    action: str = "residual"
    environments: int = 512
    actor: tuple[int, ...] = (256, 256, 128)
    noise: float = 0.5
    start_noise: float = 0.2
    sensor_noise: float = 0.0
    action_noise: float = 0.0
    push: float = 0.0
    vary: int = 0
    ranges: str = ""
    distance: float = 1.5
    penalties: float = 0.1
    tightening: float = 4e-4
    warm_up: int = 0
    trim: int = 0
    rewards: dict[str, float] = field(default_factory=dict)
    ppo: PpoSettings = field(
        default_factory=lambda: PpoSettings(
            iterations=330, gamma=0.97, kl=0.04, epochs=4, critic=(256, 256, 128), threads=2
        )
    )

    def __post_init__(self) -> None:
        if self.preset not in REWARDS:
            raise unknown("preset", self.preset, REWARDS)
        if self.action not in ACTIONS:
            raise unknown("meaning of actions", self.action, ACTIONS)
        if self.ranges and self.ranges not in (*RANGES, INTERVALS):
            raise unknown("table of ranges", self.ranges, (*RANGES, INTERVALS))
        if self.ranges and not self.vary:
            raise DataError(
                f"ranges {self.ranges!r} say how simulators differ, and there is one; say how many "
                "with vary (--vary 8)"
            )
        wrong = [k for k in _AMOUNTS if not 0 <= getattr(self, k) < math.inf]
        if wrong:
            told = ", ".join(f"{k} is {getattr(self, k)}" for k in wrong)
            raise DataError(f"{told}; expected finite numbers that are not below 0")
        self.ppo.refuse_few(self.environments)
        if self.vary > self.environments:
            raise DataError(
                f"vary asks for {self.vary} simulators, environments for {self.environments}; "
                "there must be at least one in each"
            )

    @property
    def weights(self) -> dict[str, float]:
        """Of the rewards, by name."""
        return REWARDS[self.preset] | self.rewards

    @property
    def samples(self) -> int:
        """Control steps of a whole training."""
        return self.environments * self.ppo.steps * self.ppo.iterations

    def with_samples(self, samples: float) -> TrainSettings:
        """So many control steps in all; one iteration at least."""
        if not 1 <= samples < math.inf:
            raise DataError(f"samples is {samples}; expected control steps in all, such as 4e6")
        count = max(1, round(samples / (self.environments * self.ppo.steps)))
        return replace(self, ppo=replace(self.ppo, iterations=count))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


_AMOUNTS = (
    *("noise", "start_noise", "sensor_noise", "action_noise", "push", "vary", "tightening"),
    *("warm_up", "trim", "distance", "penalties"),
)
