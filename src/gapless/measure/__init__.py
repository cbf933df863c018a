"""Measure: replay, metrics and attribution."""

from gapless.callable_package import make_callable
from gapless.measure.attribution import Attribution as Attribution
from gapless.measure.attribution import attribute as attribute
from gapless.measure.gap import Gap as Gap
from gapless.measure.measure import measure as measure
from gapless.measure.replay import Replay as Replay
from gapless.measure.replay import replay as replay

make_callable(__name__, measure)
