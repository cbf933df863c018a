"""Comparison: methods side by side, judged on one split."""

from gapless.comparison.comparing import compare as compare
from gapless.comparison.comparison import Comparison as Comparison
