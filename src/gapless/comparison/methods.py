"""The methods that `gapless compare` compares, by name: each turns recordings into a World.

Papers' networks and inputs are theirs where the papers state them; bounds and data are the same for
all, and none sees the recordings it is judged by.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.correcting import CorrectSettings, correct
from gapless.corrections.runtime.signals import BASE
from gapless.errors import unknown
from gapless.identification import Calibration, IdentifySettings, identify
from gapless.identification.plans.ladder import AUTO
from gapless.progress import Watch
from gapless.recordings.split import Split
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import World

Calibrations = dict[str, tuple[Calibration, float]]
"""Name of a method -> what it identified, and the seconds that took."""


@dataclass(frozen=True)
class Bench:
    """What every method is given.

    Attributes:
        world: the nominal robot.
        split: recordings to learn from and to choose by; none to test on.
        horizon: seconds of an episode.
        budget: seconds that reinforcement learning may take.
        seed: of everything a method draws.
        settings: method -> other fields of its `CorrectSettings`, or of its `IdentifySettings`.
        watch: told how far a training is.
        calibrations: identified already; a method that builds on one counts its seconds as its own.
        checkpoint: file that keeps how far a training is; one for each method and seed.
    """

    world: MujocoWorld
    split: Split
    horizon: float = 1.0
    budget: float = 600.0
    seed: int = 0
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    watch: Watch | None = None
    calibrations: Calibrations = field(default_factory=dict)
    checkpoint: Path | None = None

    def identified(
        self, name: str, parameters: str | Sequence[str] = "actuators", **settings: Any
    ) -> World:
        """The world with the parameters that a method identifies."""
        calibration, _ = self.calibration(name, parameters, **settings)
        return CorrectedWorld(self.world, calibration).world

    def calibration(
        self, name: str, parameters: str | Sequence[str] = "actuators", **settings: Any
    ) -> tuple[Calibration, float]:
        """What a method identifies, and the seconds it took when that was done."""
        if name not in self.calibrations:
            began = time.perf_counter()
            own = {"horizon": self.horizon / 2, "windows": 48} if self.base else {}
            own = {"horizon": self.horizon, **own, **settings, **self.settings.get(name, {})}
            how = IdentifySettings(**{"physics_step": self.world.timestep, **own})
            robot = self.world.robot
            found = identify(self.split, robot, parameters, settings=how, keep_anyway=True)
            self.calibrations[name] = found, time.perf_counter() - began
        return self.calibrations[name]

    def learned(
        self,
        name: str,
        calibration: Calibration | None = None,
        payload: bool = False,
        **choices: Any,
    ) -> CorrectedWorld:
        """The world with a correction that is trained by these choices."""
        usual = {"horizon": self.horizon, "payload": payload, **choices}
        chosen = merged(usual, self.settings.get(name, {}))
        split = self.split
        if split.cross_validated:  # what that would decide is not asked
            split = replace(split, folds=())
        correction = correct(
            split,
            self.world,
            calibration,
            settings=CorrectSettings(**chosen),
            seed=self.seed,
            keep_anyway=True,  # what a method made is shown, whatever it is worth
            checkpoint=self.checkpoint,
            watch=self.watch,
        )
        return CorrectedWorld(self.world, calibration, [correction])

    def until_budget(self, reward: str) -> dict[str, Any]:
        """Settings of a PPO that only the budget ends."""
        return {"reward": reward, "seconds": self.budget, "iterations": 10**6}

    @property
    def base(self) -> tuple[str, ...]:
        """Signals of the base, where it moves."""
        return tuple(BASE) if self.world.robot.mount == "free" else ()


def merged(choices: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Choices with some replaced; settings of model and trainer are replaced one by one."""
    found = dict(choices)
    for name, value in others.items():
        before = found.get(name)
        found[name] = {**before, **value} if isinstance(before, dict) else value
    return found


def raw(bench: Bench) -> World:
    """The simulator as it is."""
    return bench.world


def asap_sysid(bench: Bench) -> World:
    """ASAP's baseline: a grid over the root's inertia and the gains."""
    fixed = bench.world.robot.mount != "free"
    # Nothing tells the inertia of a root that cannot move.
    return bench.identified("asap-sysid", ("kp", "kd") if fixed else "asap", optimiser="grid")


def identified(bench: Bench) -> World:
    """Whatever parameters a ladder of models finds worth having."""
    return bench.identified("identify", AUTO)


def delta_dynamics(bench: Bench) -> World:
    """ASAP's baseline: a network adds to the next state."""
    return bench.learned(
        "delta-dynamics",
        model="mlp",
        head="state",
        trainer="autoregressive",
        members=1,
        model_settings=_present((256, 256), *bench.base, "q", "dq", "target"),
    )


def asap(bench: Bench) -> World:
    """ASAP's delta action: PPO on a network that sees the present."""
    return bench.learned(
        "asap",
        model="mlp",
        trainer="ppo",
        members=1,
        model_settings=asap_network(bench),
        trainer_settings=bench.until_budget("asap"),
    )


def gaponet(bench: Bench) -> World:
    """GAPONet's operator: PPO, the trunk sees the target and the payload."""
    return bench.learned(
        "gaponet",
        model="operator",
        trainer="ppo",
        members=1,
        payload=True,
        model_settings={"trunk_inputs": ("target",)},
        trainer_settings=bench.until_budget("gaponet"),
    )


def residual_torque(bench: Bench) -> World:
    """Residual torque from encoders alone, regressed on inverse dynamics."""
    return bench.learned(
        "residual-torque",
        model="mlp",
        head="torque",
        trainer="inverse",
        members=1,
        model_settings=_present((256, 128, 64), "q", "dq", "ddq", "target"),
    )


def ours(bench: Bench) -> World:
    """Identify, then learn by gradient what is left.

    On the floor it is one small network per joint, and windows are half as long: a stride later the
    slopes foretell little.
    """
    calibration, _ = bench.calibration("identify", AUTO)
    if bench.world.robot.mount == "free":
        short = {"horizons": (0.25, 0.5), "iterations": 150, "samples": 5000, "batch": 48}
        return bench.learned("ours", calibration, model="actuator", trainer_settings=short)
    return bench.learned("ours", calibration, payload=True)


def asap_network(bench: Bench) -> dict[str, Any]:
    """Settings of ASAP's network of delta actions."""
    return _present((512, 256, 128), *bench.base, "q", "dq", "previous", "target")


def _present(sizes: tuple[int, ...], *now: str) -> dict[str, Any]:
    """Settings of a network that sees no past."""
    return {"sizes": sizes, "now": now, "history": 0}


METHODS: dict[str, Callable[[Bench], World]] = {
    "raw": raw,
    "asap-sysid": asap_sysid,
    "identify": identified,
    "delta-dynamics": delta_dynamics,
    "asap": asap,
    "gaponet": gaponet,
    "residual-torque": residual_torque,
    "ours": ours,
}
"""Name -> how its world is made."""

ONCE = ("raw", "asap-sysid", "identify")
"""Methods that draw nothing: one seed tells all."""


def run(name: str, bench: Bench) -> tuple[World, float]:
    """The world that a method makes, and the seconds it took, those of what it builds on too."""
    refuse_unknown([name])
    known = bench.calibrations.get("identify") if name in ("identify", "ours") else None
    began = time.perf_counter() - (known[1] if known else 0.0)
    world = METHODS[name](bench)
    return world, time.perf_counter() - began


def refuse_unknown(names: Sequence[str]) -> None:
    """Refuse names of methods that do not exist, before any of them runs."""
    for name in names:
        if name not in METHODS:
            raise unknown("method", name, METHODS)
