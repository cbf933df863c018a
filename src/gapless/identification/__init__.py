"""Identification: physical parameters from recordings, with their uncertainty."""

from gapless.identification.calibration import Calibration as Calibration
from gapless.identification.estimate import Estimate as Estimate
from gapless.identification.identifying import CalibrationRefusedError as CalibrationRefusedError
from gapless.identification.identifying import identify as identify
from gapless.identification.settings import IdentifySettings as IdentifySettings
