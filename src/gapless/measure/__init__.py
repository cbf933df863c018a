"""Measure: replay, metrics and attribution."""

from gapless.callable_package import make_callable
from gapless.measure.attribution import Attribution as Attribution
from gapless.measure.attribution import attribute as attribute
from gapless.measure.gap import Gap as Gap
from gapless.measure.measure import measure as measure
from gapless.measure.replay import Replay as Replay
from gapless.measure.replay import replay as replay
from gapless.measure.side_by_side import SideBySide as SideBySide
from gapless.measure.side_by_side import side_by_side as side_by_side

make_callable(__name__, measure)
