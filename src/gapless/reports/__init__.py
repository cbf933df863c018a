"""Reports: what a run found, as one HTML page and as a live viewer."""

from gapless.reports.page import report as report
