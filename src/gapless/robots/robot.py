"""The Robot: a named description that becomes a MuJoCo model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.errors import ModelError, unknown
from gapless.robots import builtin, matching
from gapless.robots.inertia import Floor, Inertia
from gapless.robots.joints import Alias, Joints, TrackingPoint
from gapless.robots.payload import Payload
from gapless.robots.simple_feet import SimpleFoot
from gapless.robots.tree import Tree

if TYPE_CHECKING:
    import mujoco

    from gapless.robots.mjcf import Mjcf

Groups = dict[str, tuple[str, ...]]
SIMPLE = "simple feet: "
"""How the notes on them begin."""


@dataclass(frozen=True, eq=False)
class Robot:
    """Tree, joints in a named order, explicit gains, default pose, groups and control rate.

    Every method that changes something returns a new Robot.

    Attributes:
        name: short name.
        body: the tree of figures, or the user's own MJCF.
        joints: the moving joints; their order is the column order everywhere.
        root: the pelvis or base link.
        rate: control rate, Hz.
        mount: "free", "fixed", or the link that is clamped to the world.
        link_groups: feet, hands, upper_body, ...: names of links.
        joint_groups: arms, legs, wrists, ...: names of joints.
        point_groups: upper, lower, vr3, ...: names of tracking points.
        tracking: the points whose positions motion tracking and its metrics compare.
        end_effectors: palms or tool tips.
        aliases: other names of joints, as logs spell them.
        payloads: loads by link.
        inertias: inertias by link, where they differ from the body's own figures.
        gain_errors: factors of kp and kd by joint: what the drives make of gains a log states.
        floor: what a free robot stands on; of one that is held, what it touches, if a height is
            stated.
        soles: how far along x and z the shapes of links that touch things are from where the body
            has them, m, in the link's frame.
        simple_feet: spheres on which feet stand in place of shapes that the body has.
        locked: joints welded at an angle, rad; they are not in `joints`.
        self_collision: whether links collide with each other.
        height: z of the root in the default pose; None is found from the shapes.
        action_scale: radians a policy's unit action stands for.
        title: one line for people.
        notes: where the figures come from; what was resolved or dropped when the model was read.
        source: the file that it was read from; "" for built-in robots.
    """

    name: str
    body: Tree | Mjcf
    joints: Joints
    root: str
    rate: float = 50.0
    mount: str = "free"
    link_groups: Groups = field(default_factory=dict)
    joint_groups: Groups = field(default_factory=dict)
    point_groups: Groups = field(default_factory=dict)
    tracking: tuple[TrackingPoint, ...] = ()
    end_effectors: tuple[TrackingPoint, ...] = ()
    aliases: dict[str, Alias] = field(default_factory=dict)
    payloads: dict[str, Payload] = field(default_factory=dict)
    inertias: dict[str, Inertia] = field(default_factory=dict)
    gain_errors: dict[str, tuple[float, float]] = field(default_factory=dict)
    floor: Floor = field(default_factory=Floor)
    soles: dict[str, tuple[float, float]] = field(default_factory=dict)
    simple_feet: tuple[SimpleFoot, ...] = ()
    locked: dict[str, float] = field(default_factory=dict)
    self_collision: bool = False
    height: float | None = None
    action_scale: float = 1.0
    title: str = ""
    notes: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def load(
        cls,
        name: str | Path,
        mount: str | None = None,
        lock: Iterable[str] = (),
        self_collision: bool = False,
    ) -> Robot:
        """Load a built-in robot by name, or one from a path.

        Args:
            name: one of `gapless.robots.names()`, or the path of a model (.xml, .mjcf, .urdf) or
                of a robot file (.toml; see `gapless.robots.robotfile`).
            mount: "free", "fixed" or a link; None is the robot's usual mount.
            lock: joints or joint groups to weld at their default angle.
            self_collision: let links collide with each other.
        """
        robot = cls._load(name)
        robot = robot if mount is None else robot.with_mount(mount)
        return replace(robot.lock(lock), self_collision=robot.self_collision or self_collision)

    @classmethod
    def _load(cls, name: str | Path) -> Robot:
        if Path(name).suffix.lower() in (".toml", ".xml", ".mjcf", ".urdf"):
            from gapless.robots.robotfile import read_path

            values = read_path(Path(name))
            simple = values.pop("feet", "own") == "hull"
            robot = cls(**values, source=str(Path(name).resolve()))
            return robot.with_simple_feet() if simple else robot
        values = builtin.read(str(name))
        at = values.pop("lock")
        return cls(**values).lock(at, at)

    @classmethod
    def from_mjcf(cls, path: str | Path, **options: Any) -> Robot:
        """Read a MuJoCo XML file; see `gapless.robots.mjcf.read_mjcf` for the options."""
        from gapless.robots.mjcf import read_mjcf

        return cls(**read_mjcf(Path(path), **options), source=str(Path(path).resolve()))

    @classmethod
    def from_urdf(cls, path: str | Path, **options: Any) -> Robot:
        """Read a URDF file; see `gapless.robots.urdf.read_urdf` for the options."""
        from gapless.robots.urdf import read_urdf

        return cls(**read_urdf(Path(path), **options), source=str(Path(path).resolve()))

    @property
    def links(self) -> tuple[str, ...]:
        """Names of all links; payloads are not links."""
        return self.body.names

    @property
    def meets_floor(self) -> bool:
        """Whether there is a floor in its world: under a free robot always, else where stated."""
        return self.mount == "free" or self.floor.height is not None

    @cached_property
    def feet(self) -> tuple[str, ...]:
        """Links it stands on: those of the group "feet", else the lowest ones of the default pose.

        One that is held, and names none, has none.
        """
        from gapless.robots.standing_links import standing_links

        named = self.link_groups.get("feet", ())
        return named or (standing_links(self) if self.mount == "free" else ())

    @cached_property
    def standing_height(self) -> float:
        """z of the root at which the feet just touch the floor in the default pose."""
        from gapless.robots.assemble import standing_height

        return standing_height(self)

    def check_link(self, name: str) -> str:
        """Return the name of a link, or refuse it with the nearest right one."""
        if name not in self.links:
            raise unknown("link", name, self.links)
        return name

    def with_mount(self, mount: str) -> Robot:
        """Hold the robot otherwise: "free", "fixed", a link, "left_foot" or "right_foot"."""
        feet = self.link_groups.get("feet", ())
        sides: dict[str, str] = {}
        if len(feet) == 2:
            sides = {"left_foot": feet[0], "right_foot": feet[1]}
        link = sides.get(mount, mount)
        if link not in ("free", "fixed", *self.links):
            raise unknown("mount", mount, ("free", "fixed", *sides, *self.links))
        return replace(self, mount=link)

    def with_payloads(self, payloads: Mapping[str, Payload]) -> Robot:
        """Carry exactly these loads."""
        for link, payload in payloads.items():
            self.check_link(link)
            if not 0 <= payload.mass < np.inf:
                raise ModelError(f"payload on {link!r} is {payload.mass} kg; it must be >= 0")
        return replace(self, payloads={k: p for k, p in payloads.items() if p.mass > 0})

    def with_inertias(self, inertias: Mapping[str, Inertia]) -> Robot:
        """Replace the inertias of some links."""
        for link in inertias:
            self.check_link(link)
        return replace(self, inertias=self.inertias | dict(inertias))

    def calibrated(self, calibration: Any) -> Robot:
        """The robot with the figures of a `gapless.Calibration`.

        What its drives do beyond a robot's figures (delay, encoder bias, ...) is in the effects:
        `calibration.apply(robot)` gives both, `calibration.world(robot)` a world with both.
        """
        return calibration.apply(self)[0]

    def with_floor(self, floor: Floor) -> Robot:
        """Stand on, or touch, another floor."""
        return replace(self, floor=floor)

    def with_soles(self, soles: Mapping[str, tuple[float, float]]) -> Robot:
        """Move the contact shapes of some links along x and z of their frames, m."""
        for link in soles:
            self.check_link(link)
        return replace(self, soles=self.soles | dict(soles))

    def with_simple_feet(self, tolerance: float = 0.003) -> Robot:
        """Stand on few contact points, which simulates faster: a sphere at each corner of a sole.

        The shapes that reach the sole of a foot make way for 4 to 6 spheres with nearly the same
        support polygon and the same contact figures; all else stays. A foot with few contact
        points, or a sole that needs more corners, is kept; `notes` say which.

        Args:
            tolerance: by which a point of the support polygon may be lost, m.
        """
        from gapless.robots.sole_corners import find_simple_feet

        feet, lines = find_simple_feet(self, tolerance)
        notes = [note for note in self.notes if not note.startswith(SIMPLE)]
        told = (f"{SIMPLE}{line}" for line in lines)
        return replace(self, simple_feet=feet, notes=(*notes, *told))

    def inertia(self, link: str) -> Inertia:
        """Mass, centre of mass and moments of a link, without its load."""
        from gapless.robots.build import link_inertia

        self.check_link(link)
        return link_inertia(self.unloaded_model, link)

    @cached_property
    def unloaded_model(self) -> mujoco.MjModel:
        """Compiled once, without what the robot carries; not to be changed."""
        return replace(self, payloads={}).model()

    def with_gains(self, gains: Mapping[str, tuple[float, float]]) -> Robot:
        """Command other gains of some joints; the drives make of them what `gain_errors` say."""
        got = self.effective_gains(gains)
        kp, kd = ({joint: pair[i] for joint, pair in got.items()} for i in range(2))
        return self.with_joints(kp=kp, kd=kd)

    def effective_gains(
        self, gains: Mapping[str, tuple[float, float]]
    ) -> dict[str, tuple[float, float]]:
        """What the drives make of commanded gains."""
        errors = {joint: self.gain_errors.get(joint, (1.0, 1.0)) for joint in gains}
        return {j: (kp * errors[j][0], kd * errors[j][1]) for j, (kp, kd) in gains.items()}

    def with_joints(self, **arrays: np.ndarray | float | dict[str, float]) -> Robot:
        """Replace fields of `joints` by (J,) arrays or numbers, or of some joints by a dict."""
        return replace(self, joints=self.joints.with_values(**arrays))

    def lock(self, names: Iterable[str], at: Mapping[str, float] | None = None) -> Robot:
        """Weld joints, or whole joint groups, at given angles or at their defaults."""
        chosen = [joint for name in names for joint in self.joint_names(name)]
        angles = {j: float(self.joints.default[self.joints.index(j)]) for j in chosen}
        for joint in at or {}:
            if joint not in angles:
                raise unknown("locked joint", joint, angles)
        kept = [j for j in self.joints.names if j not in angles]
        groups = {k: tuple(j for j in g if j in kept) for k, g in self.joint_groups.items()}
        return replace(
            self,
            joints=self.joints.select(kept),
            joint_groups=groups,
            locked=self.locked | angles | dict(at or {}),
        )

    def joint_names(self, name: str) -> tuple[str, ...]:
        """The joints of a group, or the one joint of that name."""
        if name in self.joint_groups:
            return self.joint_groups[name]
        if name not in self.joints.names:
            raise unknown("joint or joint group", name, (*self.joint_groups, *self.joints.names))
        return (name,)

    def match(self, names: Sequence[str]) -> list[Alias]:
        """The joint, sign and offset that each log name means; see `matching.match`."""
        return matching.match(names, self.joints.names, self.aliases, self.locked)

    def spec(self) -> mujoco.MjSpec:
        """An editable MuJoCo model with mount, payloads and locks applied."""
        from gapless.robots.assemble import assemble

        return assemble(self)

    def model(self, timestep: float = 0.002) -> mujoco.MjModel:
        """The compiled model, stepping `timestep` seconds."""
        from gapless.robots.build import compile_spec

        spec = self.spec()
        spec.option.timestep = timestep
        return compile_spec(spec)

    def fingerprint(self) -> str:
        """Short hash of everything that decides the physics."""
        values = {f.name: getattr(self.joints, f.name) for f in fields(self.joints)}
        parts = {
            "body": self.body.identity,
            "joints": {k: v if isinstance(v, tuple) else v.tolist() for k, v in values.items()},
            "payloads": {link: asdict(load) for link, load in self.payloads.items()},
            "inertias": {link: asdict(inertia) for link, inertia in self.inertias.items()},
            "floor": self.floor.figures,
            "gain_errors": self.gain_errors,
            **({"soles": self.soles} if self.soles else {}),
            **({"feet": [asdict(f) for f in self.simple_feet]} if self.simple_feet else {}),
            **{
                k: getattr(self, k) for k in ("root", "mount", "locked", "height", "self_collision")
            },
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
