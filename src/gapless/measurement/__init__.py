"""Measurement: replay, metrics and attribution."""

from gapless.measurement.attribution import Attribution as Attribution
from gapless.measurement.attribution import attribute as attribute
from gapless.measurement.gap import Gap as Gap
from gapless.measurement.measuring import measure as measure
from gapless.measurement.replay import Replay as Replay
from gapless.measurement.replay import replay as replay
from gapless.measurement.side_by_side import SideBySide as SideBySide
from gapless.measurement.side_by_side import side_by_side as side_by_side
