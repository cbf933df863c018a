"""Worlds: anything that can be put into a state and stepped with joint targets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gapless.worlds.effects import Effects as Effects
from gapless.worlds.world import Health as Health
from gapless.worlds.world import Identity as Identity
from gapless.worlds.world import State as State
from gapless.worlds.world import Trajectory as Trajectory
from gapless.worlds.world import World as World

if TYPE_CHECKING:
    from gapless.worlds.hidden import HiddenWorld as HiddenWorld
    from gapless.worlds.mujoco_world import MujocoWorld as MujocoWorld
    from gapless.worlds.physx import PhysxWorld as PhysxWorld

_ENGINES = {"MujocoWorld": "mujoco_world", "PhysxWorld": "physx", "HiddenWorld": "hidden"}


def __getattr__(name: str) -> Any:
    """Load an engine only when its world is asked for."""
    if name not in _ENGINES:
        raise AttributeError(name)
    return getattr(import_module(f"gapless.worlds.{_ENGINES[name]}"), name)
