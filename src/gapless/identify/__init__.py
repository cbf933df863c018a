"""Identify: physical figures from recordings, with their uncertainty."""

from gapless.callable_package import make_callable
from gapless.identify.calibration import Calibration as Calibration
from gapless.identify.calibration import Estimate as Estimate
from gapless.identify.identifying import NotImprovedError as NotImprovedError
from gapless.identify.identifying import Settings as Settings
from gapless.identify.identifying import identify as identify

make_callable(__name__, identify)
