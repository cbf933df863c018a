"""gapless: from a robot's own recordings to a simulator that behaves like that robot."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.closing import CloseSettings as CloseSettings
    from gapless.closing import Run as Run
    from gapless.closing import close as close
    from gapless.comparison import Comparison as Comparison
    from gapless.comparison import compare as compare
    from gapless.corrections import CorrectedWorld as CorrectedWorld
    from gapless.corrections import Correction as Correction
    from gapless.corrections import CorrectSettings as CorrectSettings
    from gapless.corrections import correct as correct
    from gapless.deployment import DeploySettings as DeploySettings
    from gapless.deployment import deploy as deploy
    from gapless.errors import GaplessError as GaplessError
    from gapless.evaluation import Evaluation as Evaluation
    from gapless.evaluation import Scenario as Scenario
    from gapless.evaluation import evaluate as evaluate
    from gapless.exports import Exported as Exported
    from gapless.exports import export as export
    from gapless.identification import Calibration as Calibration
    from gapless.identification import IdentifySettings as IdentifySettings
    from gapless.identification import identify as identify
    from gapless.imitation import ImitateSettings as ImitateSettings
    from gapless.imitation import imitate as imitate
    from gapless.measurement import Gap as Gap
    from gapless.measurement import measure as measure
    from gapless.motions import retarget as retarget
    from gapless.policies import Policy as Policy
    from gapless.recordings import Conditions as Conditions
    from gapless.recordings import Dataset as Dataset
    from gapless.recordings import ImportOptions as ImportOptions
    from gapless.recordings import Recording as Recording
    from gapless.recordings import Split as Split
    from gapless.recordings import check_dataset as check_dataset
    from gapless.recordings import import_dataset as import_dataset
    from gapless.recordings import robot_of as robot_of
    from gapless.recordings import split_recordings as split_recordings
    from gapless.reports import report as report
    from gapless.robots import Payload as Payload
    from gapless.robots import Robot as Robot
    from gapless.scale import Fleet as Fleet
    from gapless.scale import close_fleet as close_fleet
    from gapless.scale import workers_on as workers_on
    from gapless.software_versions import allow_version_mismatch as allow_version_mismatch
    from gapless.tracking import TrainSettings as TrainSettings
    from gapless.tracking import finetune as finetune
    from gapless.tracking import train as train
    from gapless.worlds import Effects as Effects
    from gapless.worlds import HiddenWorld as HiddenWorld
    from gapless.worlds import MujocoWorld as MujocoWorld
    from gapless.worlds import PhysxWorld as PhysxWorld
    from gapless.worlds import World as World

_HOME = {
    "GaplessError": "errors",
    "allow_version_mismatch": "software_versions",
    "Robot": "robots",
    "Payload": "robots",
    "Recording": "recordings",
    "Conditions": "recordings",
    "Dataset": "recordings",
    "Split": "recordings",
    "split_recordings": "recordings",
    "ImportOptions": "recordings",
    "import_dataset": "recordings",
    "check_dataset": "recordings",
    "robot_of": "recordings",
    "World": "worlds",
    "Effects": "worlds",
    "MujocoWorld": "worlds",
    "PhysxWorld": "worlds",
    "HiddenWorld": "worlds",
    "Gap": "measurement",
    "measure": "measurement",
    "retarget": "motions",
    "Policy": "policies",
    "Calibration": "identification",
    "identify": "identification",
    "IdentifySettings": "identification",
    "Correction": "corrections",
    "CorrectedWorld": "corrections",
    "correct": "corrections",
    "CorrectSettings": "corrections",
    "evaluate": "evaluation",
    "Evaluation": "evaluation",
    "Scenario": "evaluation",
    "compare": "comparison",
    "Comparison": "comparison",
    "Run": "closing",
    "close": "closing",
    "CloseSettings": "closing",
    "train": "tracking",
    "deploy": "deployment",
    "DeploySettings": "deployment",
    "finetune": "tracking",
    "TrainSettings": "tracking",
    "export": "exports",
    "Exported": "exports",
    "close_fleet": "scale",
    "Fleet": "scale",
    "workers_on": "scale",
    "imitate": "imitation",
    "ImitateSettings": "imitation",
    "report": "reports",
}
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing gapless stays light."""
    if name not in _HOME:
        raise AttributeError(f"module 'gapless' has no attribute {name!r}")
    package = import_module(f"gapless.{_HOME[name]}")
    return getattr(package, name)


def __dir__() -> list[str]:
    return sorted(_HOME)
