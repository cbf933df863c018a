"""The contract of a policy: everything one must know to run it, and nothing it could run itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gapless.errors import DataError, nearest

MEANINGS = ("offset", "absolute", "reference", "increment")
"""What an action is added to: the offset pose, nothing, the reference motion, the last target."""


@dataclass(frozen=True)
class Term:
    """One thing that a policy sees.

    Attributes:
        name: of the term; blocks name it.
        kind: a key of `terms.KINDS`.
        scale: multiplies it: one number, or one a column.
        clip: bounds of it before the scale, as Isaac Lab and mjlab clip; None is none.
        joints: of a term of joints, where they are not those that the policy moves.
        options: what the kind needs besides: period, offsets, command, value, ...
        columns: which of its numbers are seen, in this order; empty is all of them.
        ago: control steps by which it is late; 1 of a last_action is the output before the last.
    """

    name: str
    kind: str
    scale: tuple[float, ...] = (1.0,)
    clip: tuple[float, float] | None = None
    joints: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[int, ...] = ()
    ago: int = 0


@dataclass(frozen=True)
class Block:
    """Some terms side by side in the network's input, over some frames.

    Attributes:
        terms: names, in order.
        frames: how many moments are seen; 1 is the present alone.
        by: "term" puts all frames of a term together, "frame" all terms of a moment.
        newest: "last" or "first" among the frames.
        present: whether the newest frame is the present one, or the one before it.
        fill: what stands for moments before the start: "first" repeats the first, or "zeros".
    """

    terms: tuple[str, ...]
    frames: int = 1
    by: str = "term"
    newest: str = "last"
    present: bool = True
    fill: str = "first"


@dataclass(frozen=True)
class Action:
    """What the network's output commands: target = base + scale * clip(output).

    Attributes:
        meaning: what is the base, one of MEANINGS.
        scale: radians of a unit of output: one number, or one a joint.
        offset: (J,) the base where it is "offset"; empty is the default pose.
        clip: bounds of the output, as it leaves the network; None is none.
        limits: bounds of the target of each joint, rad; empty is none.
    """

    meaning: str = "offset"
    scale: tuple[float, ...] = (1.0,)
    offset: tuple[float, ...] = ()
    clip: tuple[float, float] | None = None
    limits: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class PolicyCommand:
    """What a person or a planner asks of a policy while it runs.

    Attributes:
        lower: of the range it was trained for.
        upper: of it.
        names: of the numbers, e.g. vx, vy, wz.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ports:
    """The network's inputs and outputs by name; "" is found out where only one can be meant.

    Attributes:
        observation: input that takes the observation; or several, which it fills one after another.
        action: output that is the action.
        states: input -> output of what a recurrent network remembers; zeros at the start.
        step: input that takes the number of the control step, where the network wants it.
        motion: "joint_pos", "body_pos_w", ... -> output: the reference motion is in the network.
    """

    observation: str | tuple[str, ...] = ""
    action: str = ""
    states: Mapping[str, str] = field(default_factory=dict)
    step: str = ""
    motion: Mapping[str, str] = field(default_factory=dict)

    @property
    def seen(self) -> tuple[str, ...]:
        """The inputs that take the observation."""
        return (self.observation,) if isinstance(self.observation, str) else self.observation


@dataclass(frozen=True)
class PolicyContract:
    """A policy without its network.

    Attributes:
        name: of the policy.
        rate: control steps per second.
        joints: that it moves, in the order of its actions.
        default: joint -> position at which it stands, rad; of every joint that it sees.
        kp: (J,) position gains it was trained with, N·m/rad.
        kd: (J,) velocity gains, N·m·s/rad.
        action: what its outputs mean.
        terms: what it sees, by name.
        blocks: how that is laid out in the network's input.
        commands: by name.
        hold: joint -> position of joints that are held while it runs, rad.
        clip: bounds of the whole observation; None is none.
        mean: of each of its numbers, taken away before the clip; empty where the network does it.
        std: by which they are divided then.
        ports: of the network.
        physics_step: it was trained at, s; None is unknown.
        motion_seconds: length of the motion it follows; None where it follows none.
        reference: file of that motion, beside the contract; "" where it is not needed.
        anchor: link whose pose a tracker compares with the reference's; "" is the root.
        bodies: links in the order of a reference's body arrays.
        robot: that it was trained for; "" is unknown.
        notes: what a reader skipped or assumed.
    """

    name: str
    rate: float
    joints: tuple[str, ...]
    default: Mapping[str, float]
    kp: tuple[float, ...]
    kd: tuple[float, ...]
    action: Action
    terms: Mapping[str, Term]
    blocks: tuple[Block, ...]
    commands: Mapping[str, PolicyCommand] = field(default_factory=dict)
    hold: Mapping[str, float] = field(default_factory=dict)
    clip: tuple[float, float] | None = None
    ports: Ports = field(default_factory=Ports)
    physics_step: float | None = None
    motion_seconds: float | None = None
    reference: str = ""
    anchor: str = ""
    bodies: tuple[str, ...] = ()
    robot: str = ""
    notes: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        problems = list(contract_problems(self)) or list(_normaliser_problems(self))
        if problems:
            raise DataError(f"the contract of {self.name!r} is not whole: " + "; ".join(problems))

    @property
    def gains(self) -> dict[str, tuple[float, float]]:
        """Joint -> (kp, kd)."""
        return {j: (p, d) for j, p, d in zip(self.joints, self.kp, self.kd, strict=True)}

    @property
    def pose(self) -> np.ndarray:
        """(J,) default positions of the joints that it moves, rad."""
        return np.array([self.default[j] for j in self.joints])

    @property
    def width(self) -> int:
        """Numbers in an observation."""
        from gapless.policies.terms import term_width

        widths = {name: term_width(term, self) for name, term in self.terms.items()}
        return sum(b.frames * sum(widths[t] for t in b.terms) for b in self.blocks)

    @property
    def tracks(self) -> bool:
        """Whether it follows a motion, rather than a command."""
        return self.motion_seconds is not None or bool(self.reference or self.ports.motion)

    @property
    def sees_reference(self) -> bool:
        """Whether it needs the frames of its motion, not only how much of it is over."""
        seen = any(term.kind.startswith("reference") for term in self.terms.values())
        return seen or self.action.meaning == "reference"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def contract_problems(contract: PolicyContract) -> Iterator[str]:
    """Everything that is wrong with a contract in itself, each with the field that mends it."""
    from gapless.policies.terms import KINDS, term_problems

    count = len(contract.joints)
    if not 0 < contract.rate < np.inf:
        yield f"rate is {contract.rate}; expected control steps per second above 0"
    if not count or len(set(contract.joints)) != count:
        yield "joints must name each joint that is moved once"
    for name in ("kp", "kd"):
        values = np.asarray(getattr(contract, name), float)
        if values.shape != (count,) or not (np.isfinite(values) & (values >= 0)).all():
            yield f"{name} has {values.size} numbers; expected {count}, none below 0"
    yield from _action_problems(contract.action, count)
    if contract.action.meaning == "reference" and not (contract.reference or contract.ports.motion):
        yield "action.meaning is 'reference'; it needs motion.file, what is followed"
    lacking = [j for j in contract.joints if j not in contract.default]
    if lacking:
        yield f"default lacks {', '.join(lacking)}"
    both = {**contract.default, **contract.hold}
    yield from (f"{j} stands at {a}, no angle" for j, a in both.items() if not np.isfinite(a))
    yield from _bound_problems(contract)
    for term in contract.terms.values():
        if term.kind not in KINDS:
            yield (
                f"term {term.name!r} is of unknown kind {term.kind!r}.{nearest(term.kind, KINDS)} "
                f"Known: {', '.join(KINDS)}"
            )
        else:
            yield from term_problems(term, contract)
    yield from _block_problems(contract)


def _normaliser_problems(contract: PolicyContract) -> Iterator[str]:
    for name in ("mean", "std") if contract.mean or contract.std else ():
        values = np.asarray(getattr(contract, name), float)
        if values.shape != (contract.width,):
            yield f"normaliser.{name} has {values.size} numbers; expected {contract.width}"
        if not np.isfinite(values).all() or (name == "std" and (values <= 0).any()):
            yield f"normaliser.{name} must be finite, std above 0"


def _bound_problems(contract: PolicyContract) -> Iterator[str]:
    clips = {f"clip of term {t.name!r}": t.clip for t in contract.terms.values()}
    clips |= {"clip": contract.clip, "action.clip": contract.action.clip}
    clips |= {f"action.limits {k}": pair for k, pair in enumerate(contract.action.limits, 1)}
    for what, pair in clips.items():
        if pair is not None and not pair[0] <= pair[1]:
            yield f"{what} is {pair}; expected the lower bound first"
    for name, command in contract.commands.items():
        pairs = zip(command.lower, command.upper, strict=False)
        if len(command.lower) != len(command.upper) or not all(a <= b for a, b in pairs):
            yield f"commands.{name}: lower {command.lower} and upper {command.upper} are no ranges"


def _action_problems(action: Action, count: int) -> Iterator[str]:
    if action.meaning not in MEANINGS:
        yield f"action.meaning is {action.meaning!r}; expected one of {', '.join(MEANINGS)}"
    if len(action.scale) not in (1, count):
        yield f"action.scale has {len(action.scale)} numbers; expected 1 or {count}"
    if len(action.offset) not in (0, count):
        yield f"action.offset has {len(action.offset)} numbers; expected {count}, or none"
    if len(action.limits) not in (0, count):
        yield f"action.limits has {len(action.limits)} pairs; expected {count}, or none"
    if not np.isfinite([*action.scale, *action.offset]).all():
        yield "action.scale and action.offset must be finite"


def _block_problems(contract: PolicyContract) -> Iterator[str]:
    if not contract.blocks:
        yield "there is no [[observation]]: say what the network sees, in order"
    for k, block in enumerate(contract.blocks, 1):
        for name in block.terms:
            if name not in contract.terms:
                yield f"observation {k} names term {name!r}, which is not defined"
        if not isinstance(block.frames, int) or block.frames < 1:
            yield f"observation {k} has {block.frames} frames; expected 1 or more"
        allowed = {"by": ("term", "frame"), "newest": ("last", "first"), "fill": ("first", "zeros")}
        allowed |= {"present": (True, False)}
        for key, values in allowed.items():
            if getattr(block, key) not in values:
                yield f"observation {k}: {key} is {getattr(block, key)!r}; expected {values}"
