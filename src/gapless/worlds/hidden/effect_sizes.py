"""How large each effect is: one table, three sizes.

Sizes follow what is published or measured on robots of this kind: friction of 1-2 % of the effort
limit, motors 5-10 % weaker than their data sheet, delays of a few milliseconds, backlash of a few
tenths of a degree, links a few per cent heavier than their drawing, IMUs that are good to cheap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gapless.errors import unknown

PRESETS = ("none", "mild", "typical", "hard")


@dataclass(frozen=True)
class Size:
    """One effect.

    Attributes:
        sizes: mild, typical, hard.
        unit: of the sizes.
        joints: relative spread (one sigma) between joints or links, the same on every unit.
        units: relative spread (one sigma) between units of the same robot.
        signed: drawn about zero with the size as sigma, rather than about the size.
        what: one line for people.
    """

    sizes: tuple[float, float, float]
    unit: str
    joints: float
    units: float
    what: str
    signed: bool = False


EFFECTS: dict[str, Size] = {
    "strength": Size((0.04, 0.1, 0.18), "share", 0.3, 0.15, "torque a motor lacks"),
    "speed_limit": Size((0.1, 0.3, 0.5), "share", 0.2, 0.05, "speed range in which torque falls"),
    "heat": Size((0.5, 1.0, 2.0), "K/s", 0.2, 0.1, "warming at full effort; 0.2 % lost per kelvin"),
    "coulomb": Size((0.005, 0.015, 0.03), "of effort", 0.3, 0.2, "dry friction"),
    "viscous": Size((0.01, 0.025, 0.06), "of effort", 0.3, 0.2, "viscous friction at full speed"),
    "stribeck": Size((0.003, 0.008, 0.016), "of effort", 0.3, 0.2, "dry friction more at rest"),
    "load_friction": Size((0.03, 0.07, 0.12), "share", 0.2, 0.1, "friction per transmitted torque"),
    "backdrive": Size((0.05, 0.1, 0.2), "share", 0.2, 0.1, "more of it when the load drives"),
    "quadratic_friction": Size(
        (0.03, 0.07, 0.12),
        "of effort",
        0.2,
        0.1,
        "friction at full effort that grows with its square",
    ),
    "backlash": Size((0.003, 0.007, 0.014), "rad", 0.3, 0.2, "backlash of the gear"),
    "flex": Size(
        (0.002, 0.006, 0.015), "rad", 0.2, 0.1, "compliance of the drive: its angle at full effort"
    ),
    "command_delay": Size((0.002, 0.006, 0.015), "s", 0.0, 0.1, "time until a command acts"),
    "command_jitter": Size((0.0003, 0.001, 0.003), "s", 0.0, 0.1, "mean time it is later still"),
    "sensor_delay": Size((0.001, 0.002, 0.005), "s", 0.0, 0.1, "age of what the log shows"),
    "encoder_bias": Size((0.002, 0.005, 0.012), "rad", 0.0, 1.0, "wrong zero", signed=True),
    "encoder_noise": Size((1e-4, 3e-4, 1e-3), "rad", 0.2, 0.1, "noise of positions"),
    "quantisation": Size((1e-4, 4e-4, 1.5e-3), "rad", 0.0, 0.0, "step of the encoder"),
    "gyro_noise": Size((0.005, 0.02, 0.05), "rad/s", 0.0, 0.1, "noise of the base's turning rate"),
    "gyro_bias": Size((0.002, 0.006, 0.015), "rad/s", 0.0, 1.0, "wrong zero of it", signed=True),
    "imu_tilt": Size((0.005, 0.012, 0.025), "rad", 0.0, 1.0, "IMU mounted askew", signed=True),
    "imu_noise": Size((0.001, 0.003, 0.008), "rad", 0.0, 0.1, "noise of the base's orientation"),
    "imu_delay": Size((0.002, 0.005, 0.01), "s", 0.0, 0.1, "age of the IMU beyond sensor_delay"),
    "link_mass": Size((0.01, 0.03, 0.08), "share", 1.0, 0.3, "error of masses", signed=True),
    "link_com": Size((0.002, 0.005, 0.012), "m", 1.0, 0.2, "error of mass centres", signed=True),
    "link_inertia": Size((0.03, 0.08, 0.2), "share", 1.0, 0.3, "error of inertias", signed=True),
    "armature": Size((0.03, 0.1, 0.25), "share", 1.0, 0.2, "error of rotor inertias", signed=True),
    "unknown_load": Size((0.02, 0.1, 0.3), "kg", 0.3, 0.3, "cables and covers at each hand"),
    "grip": Size((0.01, 0.03, 0.05), "m", 0.3, 0.3, "load further out than its log says"),
    "floor_friction": Size((0.1, 0.3, 0.5), "share", 0.0, 0.1, "grip the floor lacks"),
    "floor_softness": Size((0.2, 0.6, 1.5), "share", 0.0, 0.1, "contacts softer than nominal"),
}
"""Every effect a hidden robot can have, by name."""

ASKED_FOR = ("backdrive", "quadratic_friction")
"""Effects that a unit has only where they are named: presets are as they were without them."""

PLAIN = (
    "strength",
    "coulomb",
    "viscous",
    "command_delay",
    "command_jitter",
    "sensor_delay",
    "encoder_bias",
    "encoder_noise",
    "quantisation",
    "gyro_noise",
    "gyro_bias",
    "imu_tilt",
    "imu_noise",
    "imu_delay",
    "link_mass",
    "link_com",
    "link_inertia",
    "armature",
    "unknown_load",
    "grip",
    "floor_friction",
    "floor_softness",
)
"""Effects that cost nothing: figures of the model, or of the road in and out."""


def chosen(only: Iterable[str] | None) -> tuple[str, ...]:
    """The effects asked for, in the table's order; by default all but those of `ASKED_FOR`."""
    usual = set(EFFECTS) - set(ASKED_FOR)
    names = usual if only is None else {only} if isinstance(only, str) else set(only)
    for name in names - set(EFFECTS):
        raise unknown("effect", name, EFFECTS)
    return tuple(name for name in EFFECTS if name in names)


def sizes(preset: str) -> dict[str, float]:
    """Effect -> size under a preset; nothing for "none"."""
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    if preset == "none":
        return {}
    column = PRESETS.index(preset) - 1
    return {name: size.sizes[column] for name, size in EFFECTS.items()}
