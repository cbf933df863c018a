"""What a policy can see: every kind of observation term, computed in one place.

The same NumPy code serves training, evaluation and the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gapless.errors import nearest
from gapless.robots.rotations import conj, mul, rotate

if TYPE_CHECKING:
    from gapless.policies.policy_contract import PolicyContract, Term
    from gapless.policies.reference import Reference

DOWN = np.array([0.0, 0.0, -1.0])
MOST = 1000
"""Control steps by which a term may be late."""


class Readings(Protocol):
    """What a robot's sensors say, (n, ...) each; a `State` of a world is one."""

    @property
    def q(self) -> np.ndarray:
        """(n, J) joint positions, rad."""
        ...

    @property
    def dq(self) -> np.ndarray:
        """(n, J) joint velocities, rad/s."""
        ...

    @property
    def base_quat_wxyz(self) -> np.ndarray | None:
        """(n, 4) orientation of the root."""
        ...

    @property
    def base_ang_vel_b(self) -> np.ndarray | None:
        """(n, 3) angular velocity of the root in its own frame, rad/s."""
        ...

    @property
    def base_lin_vel_w(self) -> np.ndarray | None:
        """(n, 3) velocity of the root in the world, m/s."""
        ...

    @property
    def base_pos(self) -> np.ndarray | None:
        """(n, 3) position of the root, m."""
        ...


@dataclass(frozen=True)
class Sighting:
    """One moment of n environments, from which all terms are computed.

    Attributes:
        readings: of the sensors, joints in the order of `columns`.
        columns: joint -> column of the readings.
        action: (n, A) the last output of the network, clipped.
        target: (n, A) the last targets, rad.
        step: (n,) control steps since the start.
        commands: name -> (n, C).
        reference: the motion that is followed, where there is one, at this moment.
        anchor: (n, 3) position and (n, 4) orientation of the link that is compared with it.
    """

    readings: Readings
    columns: Mapping[str, int]
    action: np.ndarray
    target: np.ndarray
    step: np.ndarray
    commands: Mapping[str, np.ndarray]
    reference: Reference | None = None
    anchor: tuple[np.ndarray, np.ndarray] | None = None


Read = Callable[[Sighting, "Term", "PolicyContract"], np.ndarray]
Width = Callable[["Term", "PolicyContract"], int]


@dataclass(frozen=True)
class TermKind:
    """A kind of term.

    Attributes:
        read: (n, width) of a moment.
        width: numbers of it.
        unit: for people.
        what: one line.
        needs: readings without which it cannot be computed.
        options: keys of a term's options that mean something to it.
    """

    read: Read
    width: Width
    unit: str
    what: str
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def seen_joints(term: Term, contract: PolicyContract) -> tuple[str, ...]:
    """The joints of a term of joints."""
    return term.joints or contract.joints


def term_width(term: Term, contract: PolicyContract) -> int:
    """Numbers of a term."""
    return len(term.columns) or KINDS[term.kind].width(term, contract)


def read_term(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    """(n, width) of a term as the network sees it: clipped, then scaled."""
    value = KINDS[term.kind].read(sight, term, contract)
    value = value[:, term.columns] if term.columns else value
    value = value if term.clip is None else np.clip(value, *term.clip)
    return value * np.asarray(term.scale)


def term_problems(term: Term, contract: PolicyContract) -> Iterator[str]:
    """What a term lacks, with the field to add."""
    yield from _unknown_options(term)
    commanded = term.kind == "command" or term.options.get("still_below")
    if commanded and _command(term) not in contract.commands:
        yield f"term {term.name!r} needs [commands.{_command(term)}] with lower and upper"
        return
    if term.kind.startswith("gait"):
        yield from _clock_problems(term, contract)
    if term.kind == "motion_phase" and not contract.motion_seconds:
        yield f"term {term.name!r} needs motion.seconds, the length of the motion"
    if term.kind.startswith("reference") and not (contract.reference or contract.ports.motion):
        yield (
            f"term {term.name!r} needs motion.file, the reference that it follows, or "
            "network.motion where the network hands it out"
        )
    lacking = [j for j in seen_joints(term, contract) if j not in contract.default]
    if term.kind == "joint_pos_rel" and lacking:
        yield f"term {term.name!r} needs default positions of {', '.join(lacking)}"
    whole, width = KINDS[term.kind].width(term, contract), term_width(term, contract)
    if any(not 0 <= column < whole for column in term.columns):
        yield f"term {term.name!r} has columns 0 to {whole - 1}; columns names {term.columns}"
    if not isinstance(term.ago, int) or not 0 <= term.ago <= MOST:
        yield f"term {term.name!r}: ago is {term.ago!r}; expected control steps, 0 to {MOST}"
    if len(term.scale) not in (1, width):
        yield f"term {term.name!r} has {len(term.scale)} scales; expected 1 or {width}"


def _clock_problems(term: Term, contract: PolicyContract) -> Iterator[str]:
    options, width = term.options, _feet(term, contract)
    if not options.get("period", 0) > 0:
        yield f"term {term.name!r} needs period, the seconds of a gait cycle"
    if not isinstance(options.get("still_below", 0.0), int | float):
        yield f"term {term.name!r}: still_below is {options['still_below']!r}; expected a number"
    if np.ravel(options.get("still_value", 0.0)).astype(float).size not in (1, width):
        yield f"term {term.name!r}: still_value must be one number, or {width}"


def _unknown_options(term: Term) -> Iterator[str]:
    known = ("kind", "scale", "clip", "joints", "columns", "ago", *KINDS[term.kind].options)
    for key in term.options:
        if key not in known:
            yield (
                f"term {term.name!r} has {key!r}, which means nothing to {term.kind}."
                f"{nearest(key, known)} Known: {', '.join(known)}"
            )


def _joints(term: Term, contract: PolicyContract) -> int:
    return len(seen_joints(term, contract))


def _actions(term: Term, contract: PolicyContract) -> int:
    return len(contract.joints)


def _fixed(width: int) -> Width:
    return lambda term, contract: width


def _columns(sight: Sighting, term: Term, contract: PolicyContract) -> list[int]:
    return [sight.columns[j] for j in seen_joints(term, contract)]


def _joint_pos(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    return sight.readings.q[:, _columns(sight, term, contract)]


def _joint_pos_rel(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    home = np.array([contract.default[j] for j in seen_joints(term, contract)])
    return _joint_pos(sight, term, contract) - home


def _joint_vel(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    return sight.readings.dq[:, _columns(sight, term, contract)]


def _turn(sight: Sighting) -> np.ndarray:
    assert sight.readings.base_quat_wxyz is not None
    return sight.readings.base_quat_wxyz


def _gravity(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    return rotate(conj(_turn(sight)), DOWN)


def _ang_vel(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    assert sight.readings.base_ang_vel_b is not None
    return sight.readings.base_ang_vel_b


def _lin_vel(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    return rotate(conj(_turn(sight)), sight.readings.base_lin_vel_w)  # type: ignore[arg-type]


def _height(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    return sight.readings.base_pos[:, 2:]  # type: ignore[index]


def _euler(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    """Roll, pitch and yaw; or the first two alone."""
    w, x, y, z = np.moveaxis(_turn(sight), -1, 0)
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1, 1))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.stack([roll, pitch, yaw], axis=-1)[:, : 2 if term.kind == "roll_pitch" else 3]


def _command(term: Term) -> str:
    return str(term.options.get("command", "velocity"))


def _commanded(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    return sight.commands[_command(term)]


def _gait(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    """Sine or cosine of a clock, one a foot; still while little is commanded, where asked for."""
    cycles = sight.step[:, None] / (contract.rate * term.options["period"])
    angle = 2 * np.pi * ((cycles + np.asarray(_offsets(term))) % 1.0)
    wave = {
        "gait_sin": lambda: np.sin(angle),
        "gait_cos": lambda: np.cos(angle),
        "gait_sin_cos": lambda: np.concatenate([np.sin(angle), np.cos(angle)], axis=-1),
        "gait_phase": lambda: angle / (2 * np.pi),
    }[term.kind]()
    least = term.options.get("still_below", 0.0)
    if least:
        size = np.linalg.norm(sight.commands[_command(term)], axis=-1, keepdims=True)
        wave = np.where(size < least, np.asarray(term.options.get("still_value", 0.0)), wave)
    return wave


def _offsets(term: Term) -> tuple[float, ...]:
    return tuple(np.ravel(term.options.get("offsets", 0.0)).astype(float))


def _feet(term: Term, contract: PolicyContract) -> int:
    return len(_offsets(term)) * (2 if term.kind == "gait_sin_cos" else 1)


def _motion_phase(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    assert contract.motion_seconds is not None
    return np.clip(sight.step[:, None] / (contract.rate * contract.motion_seconds), 0.0, 1.0)


def _reference_joints(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    assert sight.reference is not None
    parts = {
        "reference_joint_pos": ("joint_pos",),
        "reference_joint_vel": ("joint_vel",),
        "reference_joints": ("joint_pos", "joint_vel"),
    }[term.kind]
    return np.concatenate([getattr(sight.reference, part) for part in parts], axis=-1)


def _anchor_pos(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    """Where the reference's anchor is, seen from the robot's own."""
    assert sight.reference is not None and sight.anchor is not None
    pos, quat = sight.anchor
    return rotate(conj(quat), sight.reference.anchor_pos_w - pos)


def _anchor_turn(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    """How the reference's anchor is turned, seen from the robot's: two columns of the matrix."""
    assert sight.reference is not None and sight.anchor is not None
    turn = mul(conj(sight.anchor[1]), sight.reference.anchor_quat_w)
    first, second = (rotate(turn, axis) for axis in np.eye(3)[:2])
    return np.stack([first, second], axis=-1).reshape(len(turn), 6)


def _value(sight: Sighting, term: Term, contract: PolicyContract) -> np.ndarray:
    return np.tile(_constant(term), (len(sight.step), 1))


def _constant(term: Term) -> np.ndarray:
    return np.ravel(term.options.get("value", 0.0)).astype(float)


_IMU, _TURN = ("base_quat_wxyz", "base_ang_vel_b"), ("base_quat_wxyz",)
_ANCHORED = ("base_quat_wxyz", "base_pos")
_CLOCK = ("period", "offsets", "still_below", "still_value", "command")
KINDS: dict[str, TermKind] = {
    "joint_pos_rel": TermKind(_joint_pos_rel, _joints, "rad", "positions from the default pose"),
    "joint_pos": TermKind(_joint_pos, _joints, "rad", "positions"),
    "joint_vel": TermKind(_joint_vel, _joints, "rad/s", "velocities of the joints"),
    "last_action": TermKind(lambda s, t, c: s.action, _actions, "1", "last output of the network"),
    "last_target": TermKind(lambda s, t, c: s.target, _actions, "rad", "last targets"),
    "base_ang_vel": TermKind(_ang_vel, _fixed(3), "rad/s", "gyroscope, root frame", _IMU[1:]),
    "projected_gravity": TermKind(_gravity, _fixed(3), "1", "down, seen from the root", _TURN),
    "base_lin_vel": TermKind(
        _lin_vel, _fixed(3), "m/s", "velocity, root frame", ("base_quat_wxyz", "base_lin_vel_w")
    ),
    "base_height": TermKind(_height, _fixed(1), "m", "height of the root", ("base_pos",)),
    "base_quat_wxyz": TermKind(lambda s, t, c: _turn(s), _fixed(4), "1", "orientation", _TURN),
    "roll_pitch": TermKind(_euler, _fixed(2), "rad", "roll and pitch of the root", _TURN),
    "roll_pitch_yaw": TermKind(_euler, _fixed(3), "rad", "roll, pitch and yaw of the root", _TURN),
    "command": TermKind(
        *(_commanded, lambda t, c: len(c.commands[_command(t)].lower), "", "what is asked for"),
        options=("command",),
    ),
    "gait_sin": TermKind(_gait, _feet, "1", "sine of the gait's clock", (), _CLOCK),
    "gait_cos": TermKind(_gait, _feet, "1", "cosine of the gait's clock", (), _CLOCK),
    "gait_sin_cos": TermKind(_gait, _feet, "1", "its sines, then its cosines", (), _CLOCK),
    "gait_phase": TermKind(_gait, _feet, "1", "the gait's clock, 0 to 1", (), _CLOCK),
    "motion_phase": TermKind(_motion_phase, _fixed(1), "1", "share of the motion that is over"),
    "reference_joint_pos": TermKind(
        _reference_joints, _actions, "rad", "positions of the reference"
    ),
    "reference_joint_vel": TermKind(_reference_joints, _actions, "rad/s", "its velocities"),
    "reference_joints": TermKind(
        _reference_joints, lambda t, c: 2 * len(c.joints), "", "its positions, then velocities"
    ),
    "reference_anchor_pos": TermKind(
        _anchor_pos, _fixed(3), "m", "its anchor, seen from the robot's", _ANCHORED
    ),
    "reference_anchor_turn": TermKind(
        _anchor_turn, _fixed(6), "1", "turn of its anchor, two columns of a matrix", _TURN
    ),
    "constant": TermKind(
        *(_value, lambda t, c: len(_constant(t)), "", "numbers that do not change"),
        options=("value",),
    ),
}
"""Every kind of term, by name."""
