"""Links by name: world, udp://HOST:PORT, unitree, ros2."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from gapless.deployment.gantry import Gantry
from gapless.deployment.links.unitree_dds import LOOPBACK, interface_uri
from gapless.deployment.links.unitree_wire import MOTORS
from gapless.deployment.robot_link import RobotLink
from gapless.errors import DataError, unknown

if TYPE_CHECKING:
    from gapless.robots import Robot

FORMS = ("world", "udp://HOST:PORT", "unitree", "ros2")
UDP_CHANNELS = ("torque", "base_quat_wxyz", "base_ang_vel_b", "base_pos", "base_lin_vel_w")
"""What a World behind a UDP port tells."""
HUNG = 8.0
"""s after its first driving command that a simulated robot hangs on its gantry."""


@dataclass(frozen=True)
class LinkOptions:
    """What a link needs besides its name.

    Attributes:
        world: of link world, as ENGINE[:PRESET[:UNIT]].
        hang: s that a simulated robot hangs on its gantry; 0 is not at all.
        domain: of DDS: 0 on robots, 1 in simulators.
        interface: network interface of DDS; "" is the computer's choice, "lo" this computer alone.
    """

    world: str = "mujoco"
    hang: float = HUNG
    domain: int = 0
    interface: str = ""


def open_link(text: str, robot: Robot, rate: float, options: LinkOptions) -> RobotLink:
    """The link that a text names; see FORMS.

    Args:
        text: names it.
        robot: at its other end.
        rate: control steps per second.
        options: what else it needs.
    """
    joints = robot.joints
    if text == "world":
        return _world(robot, rate, options)
    if text.startswith("udp://"):
        from gapless.deployment.links.datagram_link import DatagramLink

        return DatagramLink(
            address_of(text), joints.names, UDP_CHANNELS, _braking(robot), is_real=True
        )
    if text == "unitree":
        from gapless.deployment.links.unitree_link import UnitreeLink

        use_interface(options.interface)
        return UnitreeLink(unitree_model(robot), joints.names, _braking(robot), options.domain)
    if text == "ros2":
        from gapless.deployment.links.ros_link import RosLink

        return RosLink(joints.names, _braking(robot))
    raise unknown("link", text, FORMS)


def address_of(text: str) -> tuple[str, int]:
    """Host and port of udp://HOST:PORT."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None:
        raise DataError(f"{text!r} is no address; expected udp://HOST:PORT")
    return host, port


def unitree_model(robot: Robot) -> str:
    """The name of its messages."""
    if robot.name not in MOTORS:
        raise unknown("Unitree robot", robot.name, MOTORS)
    return robot.name


def use_interface(interface: str) -> None:
    """Tell DDS which network it is on; what the environment says counts where nothing is said."""
    if interface:
        os.environ["CYCLONEDDS_URI"] = LOOPBACK if interface == "lo" else interface_uri(interface)


def _world(robot: Robot, rate: float, options: LinkOptions) -> RobotLink:
    from gapless.deployment.links.world_link import WorldLink
    from gapless.worlds.named_worlds import world_of

    world = world_of(options.world, robot).at_rate(rate)
    hung = robot.mount == "free" and options.hang > 0
    return WorldLink(world, gantry=Gantry(options.hang, rate) if hung else None)


def _braking(robot: Robot) -> np.ndarray:
    from gapless.deployment.safety_limits import braking_gains

    return braking_gains(robot)
