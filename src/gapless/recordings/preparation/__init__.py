"""From a raw log to recordings: names, clock, units, resampling, placement in time, quality."""
