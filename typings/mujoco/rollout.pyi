# mujoco is a compiled module without type information.
from typing import Any

def __getattr__(name: str) -> Any: ...
