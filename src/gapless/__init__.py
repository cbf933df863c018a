"""gapless: from a robot's own recordings to a simulator that behaves like that robot."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.close import Run as Run
    from gapless.close import close as close
    from gapless.correct import CorrectedWorld as CorrectedWorld
    from gapless.correct import Correction as Correction
    from gapless.correct import correct as correct
    from gapless.errors import GaplessError as GaplessError
    from gapless.identify import Calibration as Calibration
    from gapless.identify import identify as identify
    from gapless.measure import Gap as Gap
    from gapless.measure import measure as measure
    from gapless.recordings import Conditions as Conditions
    from gapless.recordings import Dataset as Dataset
    from gapless.recordings import ImportOptions as ImportOptions
    from gapless.recordings import Recording as Recording
    from gapless.recordings import check_dataset as check_dataset
    from gapless.recordings import import_dataset as import_dataset
    from gapless.report import report as report
    from gapless.robots import Payload as Payload
    from gapless.robots import Robot as Robot
    from gapless.worlds import Effects as Effects
    from gapless.worlds import HiddenWorld as HiddenWorld
    from gapless.worlds import MujocoWorld as MujocoWorld
    from gapless.worlds import PhysxWorld as PhysxWorld
    from gapless.worlds import World as World

_HOME = {
    "GaplessError": "errors",
    "Robot": "robots",
    "Payload": "robots",
    "Recording": "recordings",
    "Conditions": "recordings",
    "Dataset": "recordings",
    "ImportOptions": "recordings",
    "import_dataset": "recordings",
    "check_dataset": "recordings",
    "World": "worlds",
    "Effects": "worlds",
    "MujocoWorld": "worlds",
    "PhysxWorld": "worlds",
    "HiddenWorld": "worlds",
    "Gap": "measure",
    "measure": "measure",
    "Calibration": "identify",
    "identify": "identify",
    "Correction": "correct",
    "CorrectedWorld": "correct",
    "correct": "correct",
    "Run": "close",
    "close": "close",
    "report": "report",
}
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing gapless stays light."""
    if name not in _HOME:
        raise AttributeError(f"module 'gapless' has no attribute {name!r}")
    package = import_module(f"gapless.{_HOME[name]}")
    # `measure`, `identify`, `close` and so on are packages that can be called: the same object.
    return package if name == _HOME[name] else getattr(package, name)


def __dir__() -> list[str]:
    return sorted(_HOME)
