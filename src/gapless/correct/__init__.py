"""Correct: learned corrections of what no parameter expresses.

`models/` x heads x `trainers/`: `contract.py` says what a correction needs and gives, `network.py`
is the function, `correction.py` holds its weights, `corrected_world.py` runs it, `correcting.py`
trains and judges it.
"""

from gapless.callable_package import make_callable
from gapless.correct.corrected_world import CorrectedWorld as CorrectedWorld
from gapless.correct.correcting import NotImprovedError as NotImprovedError
from gapless.correct.correcting import correct as correct
from gapless.correct.correction import Correction as Correction

make_callable(__name__, correct)
