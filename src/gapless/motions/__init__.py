"""Motions: excitation, reference motions, and the checks before a robot is asked to do them."""

from gapless.motions.catalogue import CATALOGUE as CATALOGUE
from gapless.motions.catalogue import make as make
from gapless.motions.levels import level_motions as level_motions
from gapless.motions.motion import Motion as Motion
from gapless.motions.references import read_motions as read_motions
from gapless.motions.retargeting import Retargeted as Retargeted
from gapless.motions.retargeting import retarget as retarget
