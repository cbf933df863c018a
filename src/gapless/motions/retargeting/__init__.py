"""Retargeting: a person's motion becomes one that a robot can be asked to do."""

from gapless.motions.retargeting.cleaning import Cleaned as Cleaned
from gapless.motions.retargeting.cleaning import clean_motion as clean_motion
from gapless.motions.retargeting.person_files import read_person as read_person
from gapless.motions.retargeting.retargeted import Retargeted as Retargeted
from gapless.motions.retargeting.retargeting import retarget as retarget
