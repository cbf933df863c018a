"""Identify: physical figures from recordings, with their uncertainty."""

from gapless.callable_package import make_callable
from gapless.identify.calibration import Calibration as Calibration
from gapless.identify.estimate import Estimate as Estimate
from gapless.identify.identifying import NotImprovedError as NotImprovedError
from gapless.identify.identifying import identify as identify
from gapless.identify.settings import Settings as Settings

make_callable(__name__, identify)
