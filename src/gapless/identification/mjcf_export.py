"""A calibrated robot as a plain MJCF file, with a note of what MuJoCo's format cannot hold."""

from __future__ import annotations

from gapless.identification.calibration import Calibration
from gapless.robots import Robot
from gapless.robots.build import compile_spec


def calibrated_mjcf(calibration: Calibration, robot: Robot, timestep: float = 0.002) -> str:
    """The XML text; position actuators take the targets, in the robot's joint order."""
    calibrated, _ = calibration.apply(robot)
    spec = calibrated.spec()
    spec.option.timestep = timestep
    compile_spec(spec)
    parts = [part for part in (calibration.base, calibration) if part is not None]
    lost = [part[name] for part in parts for name in part.beyond_mjcf()]
    about = [f"{calibration.robot}, calibrated by gapless from {_data(calibration)}."]
    if lost:
        about.append(
            "Not in this file, as MJCF has no place for it (use the calibration itself): "
            + ", ".join(f"{e.name} = {e.value:.4g}" for e in lost)
        )
    text = " ".join(about).replace("--", "- -")
    return f"<!-- {text} -->\n{spec.to_xml()}"


def _data(calibration: Calibration) -> str:
    names = calibration.split.get("learn", ())
    return f"{len(names)} recordings" if names else "recordings"
