"""From what people type to parameters: "kp", "kp/arms", "kp@sides", "mass/torso_link"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from gapless.errors import GaplessError, unknown
from gapless.parameters.contact_kinds import refuse_without_floor
from gapless.parameters.kind import JOINT, LINK, Kind
from gapless.parameters.kinds import AXES, KINDS, PLANES
from gapless.parameters.motors import motor_of
from gapless.parameters.parameter import Parameter
from gapless.robots import Robot
from gapless.worlds.effects import Effects

_CENTRE = tuple(f"com_{axis}" for axis in AXES)
_SHAPE = (*(f"stretch_{a}" for a in AXES), *(f"shear_{p}" for p in PLANES))
_ACTUATORS = ("kp", "damping", "armature", "frictionloss", "encoder_bias", "delay@all")
_DRIVES = ("stribeck_torque", "load_friction", "backlash")
_INERTIALS = ("mass", *_CENTRE)

SETS: dict[str, tuple[str, ...]] = {
    # kd is left out: without saturation its effect is that of damping.
    "actuators": _ACTUATORS,
    "drives": (*_ACTUATORS, *_DRIVES),
    "inertials": _INERTIALS,
    "inertias": (*_INERTIALS, *_SHAPE),
    "payload": tuple(f"{kind}/loaded" for kind in _INERTIALS),
    "asap": (*(f"{kind}/root" for kind in _INERTIALS), "kp", "kd"),
    "all": (*_ACTUATORS, *_DRIVES, *_INERTIALS),
}
"""Named sets. "loaded" stands for the torso and the hands, "root" for the base (`base_link`)."""

_LIGHT = 1e-6
"""A link that weighs less is a mere frame, kg."""

RATIO = "x nominal"
TIES = ("all", "sides", "motors")
Bounds = Mapping[str, tuple[float, float]]
"""Name, kind or pattern -> two numbers."""


def parameters_of(
    robot: Robot,
    names: Iterable[str] | str,
    effects: Effects | None = None,
    *,
    bounds: Bounds | None = None,
    priors: Bounds | None = None,
) -> list[Parameter]:
    """The parameters that names stand for.

    Args:
        robot: gives joints, links and nominal values.
        names: sets (`SETS`), kinds ("kp" is one number for each driven joint or moving link), or
            kinds with a place: a joint or link, a group of them, "all" (one number for all).
            An ending "@sides" gives left and right one number, "@motors" joints with the same
            motor, "@all" all of them.
        effects: the nominal effects; none by default.
        bounds: other bounds, by name, kind or pattern.
        priors: other value and std, likewise.
    """
    typed = [names] if isinstance(names, str) else list(names)
    wanted = [name for one in typed for name in SETS.get(one, (one,))]
    effects = effects or Effects()
    found = [parameter for name in wanted for parameter in _named(robot, effects, name)]
    refuse_without_floor(robot, {parameter.kind for parameter in found})
    if not found:
        raise GaplessError("no parameter is named; expected names such as 'kp' or 'frictionloss'")
    unique = {parameter.name: parameter for parameter in found}
    changes: dict[str, dict[str, float]] = {name: {} for name in unique}
    for name, pair in _matched(unique, bounds):
        changes[name] |= {"lower": pair[0], "upper": pair[1]}
    for name, pair in _matched(unique, priors):
        ratio = unique[name].step / unique[name].prior_std
        changes[name] |= {"prior": pair[0], "prior_std": pair[1], "step": ratio * pair[1]}
    return [replace(parameter, **changes[name]) for name, parameter in unique.items()]


def _matched(
    found: Mapping[str, Parameter], pairs: Bounds | None
) -> Iterator[tuple[str, tuple[float, float]]]:
    """The parameters that names, kinds and patterns mean, with their numbers."""
    for pattern, pair in (pairs or {}).items():
        hits = [n for n, p in found.items() if fnmatchcase(n, pattern) or p.kind == pattern]
        if not hits:
            raise unknown("parameter", pattern, found)
        yield from ((name, pair) for name in hits)


def _named(robot: Robot, effects: Effects, name: str) -> list[Parameter]:
    word, _, tie = name.partition("@")
    kind_name, _, place = word.partition("/")
    if kind_name not in KINDS:
        raise unknown("parameter", kind_name, (*KINDS, *SETS))
    if tie and tie not in TIES:
        raise unknown("tie", tie, TIES)
    kind = KINDS[kind_name]
    if kind.place not in (JOINT, LINK):
        return [_shared(robot, effects, kind, ("",), kind.name)]
    if place == "all":
        place, tie = "", "all"
    chosen = _joints(robot, place) if kind.place == JOINT else _links(robot, place)
    return [
        _shared(robot, effects, kind, group, f"{kind.name}/{label}")
        for label, group in _tied(robot, kind, chosen, place, tie).items()
    ]


def _joints(robot: Robot, place: str) -> list[str]:
    names, has_motor = robot.joints.names, robot.joints.actuated
    driven = [j for j, driven in zip(names, has_motor, strict=True) if driven]
    return [j for j in robot.joint_names(place) if j in driven] if place else driven


def _links(robot: Robot, place: str) -> list[str]:
    if place == "root":
        return [base_link(robot)]
    if place == "loaded":
        return list(load_links(robot))
    if place in robot.link_groups:
        return list(robot.link_groups[place])
    if place:
        if place not in robot.links:
            raise unknown("link or link group", place, (*robot.link_groups, *robot.links))
        return [place]
    moving = _moving(robot)
    return [link for link in robot.links if link in moving]


def base_link(robot: Robot) -> str:
    """The root, or where that is a mere frame the heaviest link that is fixed to it."""
    model = robot.model()
    at = model.body(robot.root).id
    if model.body_mass[at] > _LIGHT:
        return robot.root
    fixed = [k for k in robot.links if model.body(k).weldid == model.body_weldid[at]]
    return max(fixed, key=lambda k: float(model.body(k).mass[0]), default=robot.root)


def load_links(robot: Robot) -> tuple[str, ...]:
    """Where HALO looks for a load: the torso and the hands, or the tool of an arm."""
    moving = _moving(robot)
    torso = [link for link in robot.links if "torso" in link]
    hands = [*robot.link_groups.get("hands", ()), *(p.body for p in robot.end_effectors)]
    found = [link for link in dict.fromkeys([*torso, *hands]) if link in moving]
    return tuple(found) or (robot.root,)


def _moving(robot: Robot) -> set[str]:
    """Links that are not welded to the world and weigh something."""
    model = robot.model()
    names = {model.body(i).name: i for i in range(1, model.nbody)}
    heavy = {n for n, i in names.items() if model.body_weldid[i] and model.body_mass[i] > _LIGHT}
    return heavy & set(robot.links)


def _tied(
    robot: Robot, kind: Kind, places: Sequence[str], asked: str, tie: str
) -> dict[str, tuple[str, ...]]:
    """Label -> the places that share one number."""
    if not tie:
        return {place: (place,) for place in places}
    if tie == "all":
        return {f"{asked}@all" if asked else "all": tuple(places)}
    groups: dict[object, list[str]] = {}
    for place in places:
        key = _without_side(place) if tie == "sides" else _motor(robot, kind, place)
        groups.setdefault(key, []).append(place)
    shared = {len(g) > 1 for g in groups.values()}
    label = {True: f"@{tie}", False: ""}
    return {f"{g[0]}{label[len(g) > 1]}": tuple(g) for g in groups.values()} if shared else {}


def _without_side(name: str) -> str:
    for side in ("left", "right"):
        name = name.replace(side, "·")
    swapped = [{"l": "·", "r": "·"}.get(part.lower(), part) for part in name.split("_")]
    return "_".join(swapped)


def _motor(robot: Robot, kind: Kind, joint: str) -> tuple[float, ...]:
    if kind.place != JOINT:
        raise GaplessError(f"{kind.name} belongs to links, which have no motors; use @sides")
    return motor_of(robot, joint)


def _shared(
    robot: Robot, effects: Effects, kind: Kind, places: tuple[str, ...], name: str
) -> Parameter:
    """One number for these places: their common value, or a factor where their values differ."""
    own = np.array([kind.nominal(robot, effects, p) for p in places])
    sizes = zip(places, own, strict=True)
    spread, lower, upper = np.array(
        [[size(robot, p, v) for size in (kind.prior_std, kind.lower, kind.upper)] for p, v in sizes]
    ).T
    _refuse_without_place(kind, name, own, spread)
    factor = len(places) > 1 and not np.allclose(own, own[0], rtol=1e-9, atol=1e-12)
    if factor and not (own > 0).all():
        factor, own = False, np.full_like(own, own.mean())
    if factor:
        spread, lower, upper, own = spread / own, lower / own, upper / own, np.ones_like(own)
    size = float(spread.mean())
    return Parameter(
        name=name,
        kind=kind.name,
        places=tuple(p for p in places if p),
        unit=RATIO if factor else kind.unit,
        prior=float(own[0]),
        prior_std=size,
        lower=float(lower.max()),
        upper=float(upper.min()),
        step=kind.step * size,
        factor=factor,
        log=(factor or kind.log) and bool((lower > 0).all()),
    )


def _refuse_without_place(kind: Kind, name: str, own: np.ndarray, spread: np.ndarray) -> None:
    if not (np.isfinite(own).all() and (spread > 0).all()):
        raise GaplessError(
            f"{name} has no place in this model: its value there is {own.tolist()} {kind.unit}, "
            f"which cannot be varied; state a {kind.name} in the robot, or leave it out"
        )
