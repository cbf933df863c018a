"""Closing: the whole loop in one call, from recordings to a corrected simulator."""

from gapless.closing.close_settings import CloseSettings as CloseSettings
from gapless.closing.loop import close as close
from gapless.closing.run import Run as Run
