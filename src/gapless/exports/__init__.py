"""Exports: the simulator of a run as files of other people's tools."""

from gapless.exports.exported import Exported as Exported
from gapless.exports.exporting import FORMATS as FORMATS
from gapless.exports.exporting import export as export
