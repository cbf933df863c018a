"""safety.toml: the limits as a person reads, changes and signs them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_text_atomic
from gapless.deployment.safety_limits import KINDS, JointLimits, SafetyCheck, SafetyLimits
from gapless.errors import DataError, FormatError, nearest
from gapless.toml_file import load_toml

FIGURES = ("lower", "upper", "velocity", "torque", "rate", "damping")
KEYS = ("robot", "rate", "tracking_steps", "signed_by", "checks", "joints")
HEAD = """\
# Limits of {robot}, written from the figures of its model. They are a start, not a promise: go
# through every line with the robot in front of you, change what does not fit, then sign.
# A real robot is not started while this is empty:
signed_by = {signed}

robot = {robot}
rate = {rate}             # control steps per second that these limits are for
tracking_steps = {steps}      # control steps that a joint may be far from its target

# action: clamp (bring it within the limit and go on), damp (brake until a person starts anew),
# refuse (do not begin), off (not checked).
[checks]
"""
JOINTS = """
# lower, upper: rad; velocity: rad/s; torque: N·m; rate: of targets, rad/s; damping: N·m·s/rad
[joints]
"""


def write_safety(path: str | Path, limits: SafetyLimits) -> None:
    """Write limits to a file that says what each of them is."""
    text = HEAD.format(
        robot=json.dumps(limits.robot),
        signed=json.dumps(limits.signed_by),
        rate=_number(limits.rate),
        steps=limits.tracking_steps,
    )
    wide = max(map(len, KINDS))
    for name, check in limits.checks.items():
        entry = f'{{ limit = {_number(check.limit)}, action = "{check.action}" }}'
        text += f"{name:{wide}} = {entry:36} # {KINDS[name].what}\n"
    text += JOINTS
    for row, name in enumerate(limits.joints.names):
        figures = ", ".join(f"{f} = {_number(getattr(limits.joints, f)[row])}" for f in FIGURES)
        text += f"{json.dumps(name)} = {{ {figures} }}\n"
    write_text_atomic(path, text)


def read_safety(path: str | Path) -> SafetyLimits:
    """Read limits, or say what is wrong with them; nothing is assumed for what is missing."""
    path = Path(path)
    if not path.exists():
        raise FormatError(f"{path} does not exist; write one from the robot first")
    data = load_toml(path)
    try:
        return _limits(data, path)
    except DataError as error:
        raise FormatError(f"{path}: {error}") from error
    except KeyError as error:
        raise FormatError(f"{path} lacks {error.args[0]!r}") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FormatError(f"{path} does not read as safety limits: {error}") from error


def _limits(data: Mapping[str, Any], path: Path) -> SafetyLimits:
    _refuse_unknown(data, KEYS, str(path))
    for name, entry in data["joints"].items():
        _refuse_unknown(entry, FIGURES, f"{path}: joint {name!r}")
    for name, entry in data["checks"].items():
        _refuse_unknown(entry, ("limit", "action"), f"{path}: check {name!r}")
    names = tuple(data["joints"])
    columns = [np.array([float(data["joints"][n][f]) for n in names]) for f in FIGURES]
    checks = {
        n: SafetyCheck(float(c["limit"]), str(c["action"])) for n, c in data["checks"].items()
    }
    return SafetyLimits(
        robot=str(data["robot"]),
        rate=float(data["rate"]),
        joints=JointLimits(names, *columns),
        checks=checks,
        tracking_steps=int(data["tracking_steps"]),
        signed_by=str(data["signed_by"]).strip(),
    )


def _refuse_unknown(data: Mapping[str, Any], known: tuple[str, ...], whose: str) -> None:
    for key in data:
        if key not in known:
            raise FormatError(f"{whose} has {key!r}, which means nothing.{nearest(key, known)}")


def _number(value: float) -> str:
    """As TOML writes it; exact, infinities too."""
    value = float(value)
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(int(value)) if value == int(value) else repr(value)
