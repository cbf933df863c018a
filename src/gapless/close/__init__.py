"""Close: the whole loop in one call, from recordings to a corrected simulator."""

from gapless.callable_package import make_callable
from gapless.close.choices import Choices as Choices
from gapless.close.closing import close as close
from gapless.close.run import Run as Run

make_callable(__name__, close)
