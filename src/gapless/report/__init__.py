"""Report: what a run found, as one HTML page and as a live viewer."""

from gapless.callable_package import make_callable
from gapless.report.page import report as report

make_callable(__name__, report)
