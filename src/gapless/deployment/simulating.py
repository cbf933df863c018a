"""simulate: a robot in a process of its own, which is deployed to as to a real one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapless.deployment.gantry import Gantry
from gapless.deployment.link_addresses import (
    HUNG,
    UDP_CHANNELS,
    address_of,
    unitree_model,
    use_interface,
)
from gapless.errors import unknown

if TYPE_CHECKING:
    from gapless.deployment.datagram_robot import DatagramRobot
    from gapless.deployment.simulated_robot import SimulatedUnitree

RATE, PHYSICS = 200.0, 0.0025
"""States per second, and s of a physics step: what a busy computer simulates in real time."""


@dataclass(frozen=True)
class SimulatedSettings:
    """What a simulated robot is like.

    Attributes:
        world: ENGINE[:PRESET[:UNIT]].
        link: unitree, or udp://HOST:PORT to listen on.
        hang: s that it hangs on its gantry after the first driving command.
        patience: s without a command after which it damps, until it is started anew.
        domain: of DDS.
        interface: network interface of DDS; "lo" is this computer alone.
        rate: states per second.
    """

    world: str = "mujoco"
    link: str = "unitree"
    hang: float = HUNG
    patience: float = 0.1
    domain: int = 1
    interface: str = "lo"
    rate: float = RATE


def simulated_robot(
    name: str, settings: SimulatedSettings | None = None
) -> SimulatedUnitree | DatagramRobot:
    """A robot on its gantry, ready to `run`; its watchdog damps it where commands stop.

    Args:
        name: of a robot.
        settings: what it is like.
    """
    from gapless.robots import Robot
    from gapless.worlds.named_worlds import world_of

    told = settings or SimulatedSettings()
    robot = Robot.load(name, mount="free")
    world = world_of(told.world, robot, PHYSICS).at_rate(told.rate)
    gantry = Gantry(told.hang, told.rate) if told.hang > 0 else None
    if told.link.startswith("udp://"):
        from gapless.deployment.datagram_robot import DatagramRobot

        host, port = address_of(told.link)
        return DatagramRobot(
            *(world, host, port), patience=told.patience, gantry=gantry, channels=UDP_CHANNELS
        )
    if told.link != "unitree":
        raise unknown("link of a simulated robot", told.link, ("unitree", "udp://HOST:PORT"))
    from gapless.deployment.simulated_robot import SimulatedUnitree

    use_interface(told.interface)
    model = unitree_model(robot)
    return SimulatedUnitree(world, model, told.domain, patience=told.patience, gantry=gantry)


def simulate(
    robot: SimulatedUnitree | DatagramRobot, until: Callable[[], bool], tell: Callable[[str], None]
) -> dict[str, float | bool]:
    """Let a simulated robot live; what happens to it is told, and what became of it returned."""
    body, told = robot.body, {"commanded": False, "tripped": False, "released": False}
    words = {
        "commanded": "the first command came",
        "released": "the gantry lets go",
        "tripped": "no commands: damped, until it is started anew",
    }

    def over() -> bool:
        gantry = body.link.gantry
        now = {
            "commanded": body.commanded,
            "tripped": body.watchdog.tripped,
            "released": gantry is not None and not gantry.holds,
        }
        for name in (n for n in words if now[n] and not told[n]):
            tell(words[name])
        told.update(now)
        return until()

    robot.run(over)
    state = body.link.read()
    height = float("nan") if state.base_pos is None else float(state.base_pos[2])
    return {"seconds": state.stamp, "height_m": height, **told}
