"""A CollectionPlan: which motions are played on which units, carrying what, how often."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gapless.collection.collection import SPLITS
from gapless.errors import DataError, unknown
from gapless.motions.levels import LEVELS
from gapless.robots import Payload, Robot
from gapless.worlds.chance import generator
from gapless.worlds.hidden import EFFECTS, PRESETS
from gapless.worlds.hidden.hidden_world import ENGINES

TEMPERATURES = (25.0, 60.0)
"""Range that the motor temperature at the start of a sequence is drawn from, °C."""


@dataclass(frozen=True)
class PlannedSequence:
    """One recording that is to be made.

    Attributes:
        motion: name of the motion.
        level: per_joint, upper_body, whole_body, or where the motion comes from.
        payload: load on each of the plan's links, kg.
        rate: control steps per second.
        unit: which individual robot.
        repeat: which of the repetitions, from 1.
        temperature: of all motors at the start, °C.
    """

    motion: str
    level: str
    payload: float
    rate: int
    unit: int
    repeat: int
    temperature: float

    @property
    def id(self) -> str:
        """A name that no other sequence of the plan has."""
        return f"{self.motion}/{self.payload:g}kg/{self.rate}hz/unit{self.unit}/{self.repeat}"


OF_WALKS = ("policy", "commands", "base", "imu")
"""What a plan of motions does not have."""


@dataclass(frozen=True)
class CollectionPlan:
    """Every motion is played with every payload, at every rate, on every unit, every repeat.

    Attributes:
        robot: built-in robot, or path of an .xml, .urdf or .toml.
        mount: free, fixed or a link; None is the robot's usual mount.
        lock: joints or joint groups welded at their default angle.
        motions: names of the catalogue of motions, or files.
        levels: SimLifter's levels: per_joint, upper_body, whole_body.
        policy: file or folder of a policy whose walks are recorded, instead of motions.
        commands: of its walks; none draws them from its trained range.
        base: whether the log of a walk shows the base: its pose and its velocity.
        imu: whether a log without the base shows what its IMU says: orientation and turning rate.
        seconds: length of each motion that is drawn.
        hours: robot time to reach with as many motions as that takes; None plays each once.
        payloads: load on each of `payload_links`, kg.
        payload_links: links, or groups of links, that carry the payload.
        rates: control steps per second; each has a dataset of its own.
        units: individual robots for fitting.
        held_out: individual robots that are never used for fitting.
        repeats: how often each sequence is recorded.
        hidden: preset of the hidden robots: none, mild, typical, hard.
        only: effects to switch on; None is all of the preset.
        engine: that simulates the hidden robots: mujoco or physx.
        seed: of motions, hidden robots and temperatures.
        physics_step: longest physics step, s.
        batch: most sequences that are simulated, and written, together.
    """

    robot: str
    mount: str | None = None
    lock: tuple[str, ...] = ()
    motions: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    policy: str | None = None
    commands: tuple[tuple[float, ...], ...] = ()
    base: bool = True
    imu: bool = False
    seconds: float = 9.15
    hours: float | None = None
    payloads: tuple[float, ...] = (0.0,)
    payload_links: tuple[str, ...] = ()
    rates: tuple[int, ...] = (50,)
    units: tuple[int, ...] = (1,)
    held_out: tuple[int, ...] = ()
    repeats: int = 1
    hidden: str = "typical"
    only: tuple[str, ...] | None = None
    engine: str = "mujoco"
    seed: int = 0
    physics_step: float = 0.002
    batch: int = 64

    def __post_init__(self) -> None:
        asked = tuple(tuple(map(float, command)) for command in self.commands)
        object.__setattr__(self, "commands", asked)  # 0 and 0.0 are one plan
        self._refuse_unknown()
        problems = [*self._wrong_numbers(), *self._wrong_lists()]
        if problems:
            raise DataError("this cannot be collected: " + "; ".join(problems))

    def _refuse_unknown(self) -> None:
        known = [
            ("level", self.levels, LEVELS),
            ("preset of hidden robots", (self.hidden,), PRESETS),
            ("effect", self.only or (), EFFECTS),
            ("engine", (self.engine,), ENGINES),
        ]
        for kind, names, there in known:
            for name in names:
                if name not in there:
                    raise unknown(kind, name, there)

    def _wrong_numbers(self) -> Iterator[str]:
        for name in ("seconds", "hours", "repeats", "physics_step", "batch"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                yield f"{name} is {value}, expected a number above 0"
        if self.seed != int(self.seed) or self.seed < 0:
            yield f"seed is {self.seed}, expected a whole number from 0"
        for kg in self.payloads:
            if not 0 <= kg < math.inf:
                yield f"a payload is {kg} kg, expected 0 or more"
        for rate in self.rates:
            if rate != int(rate) or rate < 1:
                yield f"a rate is {rate} Hz, expected a whole number from 1"
        for unit in (*self.units, *self.held_out):
            if unit < 1:
                yield f"a unit is {unit}; units are numbered from 1"

    def _wrong_lists(self) -> Iterator[str]:
        if self.policy is None:
            yield from self._wrong_motions()
        elif self.motions or self.levels:
            yield "a policy decides its motions itself; leave out --motions and --levels"
        if self.policy and self.imu and self.base:
            yield "--imu is of logs without the base; give --no-base with it"
        if any(self.payloads) and not self.payload_links:
            most = max(self.payloads)
            yield f"nothing carries the payload of {most} kg; give --payload-links LINK"
        for name in ("payloads", "rates", "units", "held_out", "motions", "levels"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                yield f"{name} names a value twice: {list(values)}"
        for name in ("payloads", "rates", "units"):
            if not getattr(self, name):
                yield f"{name} is empty, expected at least one value"
        if both := set(self.units) & set(self.held_out):
            yield f"units {sorted(both)} are both for fitting and held out"

    def _wrong_motions(self) -> Iterator[str]:
        if not self.motions and not self.levels:
            yield "no motion was named; give --levels, --motions or --policy"
        if self.commands or not self.base or self.imu:
            yield "--command, --no-base and --imu are of walks; give --policy"

    @property
    def key(self) -> str:
        """Short hash of all of it."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON form."""
        facts = asdict(self)
        if self.policy is None:  # what is of walks only
            facts = {k: v for k, v in facts.items() if k not in OF_WALKS}
        return json.loads(json.dumps(facts))

    @property
    def splits(self) -> dict[str, tuple[int, ...]]:
        """Units of each split that has some."""
        pairs = zip(SPLITS, (self.units, self.held_out), strict=True)
        return {split: units for split, units in pairs if units}

    @property
    def takes(self) -> int:
        """Sequences of each motion."""
        units = len(self.units) + len(self.held_out)
        return len(self.payloads) * len(self.rates) * units * self.repeats

    def load_robot(self) -> Robot:
        """The nominal robot, mounted and locked; the links that carry are checked."""
        robot = Robot.load(self.robot, mount=self.mount, lock=self.lock)
        self.loads(robot, 0.0)
        return robot

    def loads(self, robot: Robot, kilograms: float) -> dict[str, Payload]:
        """What each link carries when the payload is so many kilograms; nothing for 0."""
        links = [
            link
            for name in self.payload_links
            for link in robot.link_groups.get(name) or (robot.check_link(name),)
        ]
        return {link: Payload(float(kilograms)) for link in links if kilograms}

    def sequences(
        self, split: str, rate: int, motions: Sequence[tuple[str, str]]
    ) -> list[PlannedSequence]:
        """The sequences of one dataset, in the order they are recorded.

        Args:
            split: fit or held_out.
            rate: control steps per second.
            motions: name and level of each motion.
        """
        return [
            PlannedSequence(
                motion, level, kg, rate, unit, repeat, self._temperature(motion, kg, unit, repeat)
            )
            for unit in self.splits[split]
            for motion, level in motions
            for kg in self.payloads
            for repeat in range(1, self.repeats + 1)
        ]

    def _temperature(self, motion: str, kilograms: float, unit: int, repeat: int) -> float:
        """The same at every rate, so that rates can be compared."""
        drawn = generator(self.seed, "temperature", motion, float(kilograms), unit, repeat)
        return round(float(drawn.uniform(*TEMPERATURES)), 1)
