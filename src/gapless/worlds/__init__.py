"""Worlds: anything that can be put into a state and stepped with joint targets."""

from typing import TYPE_CHECKING, Any

from gapless.worlds.effects import Effects as Effects
from gapless.worlds.world import Health as Health
from gapless.worlds.world import Identity as Identity
from gapless.worlds.world import State as State
from gapless.worlds.world import Trajectory as Trajectory
from gapless.worlds.world import World as World

if TYPE_CHECKING:
    from gapless.worlds.mujoco import MujocoWorld as MujocoWorld


def __getattr__(name: str) -> Any:
    """Load the engine only when its world is asked for."""
    if name == "MujocoWorld":
        from gapless.worlds.mujoco import MujocoWorld

        return MujocoWorld
    raise AttributeError(name)
