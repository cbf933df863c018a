"""The PhysX world: the same robot in an engine that shares nothing with MuJoCo."""

from gapless.worlds.physx.physx_world import PhysxWorld as PhysxWorld
