"""Corrections: learned functions that add what no parameter expresses.

`runtime/` runs a correction and `models/` are its networks, both with NumPy alone; `training/`
finds the weights, with slopes from `linearised/`; `operator/` is what is GAPONet's own.
"""

from gapless.corrections.corrected_world import CorrectedWorld as CorrectedWorld
from gapless.corrections.correcting import CorrectionRefusedError as CorrectionRefusedError
from gapless.corrections.correcting import correct as correct
from gapless.corrections.runtime.correction import Correction as Correction
