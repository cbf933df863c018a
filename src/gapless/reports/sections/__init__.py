"""The sections of a report: each gathers data from a run; a template of its name shows it."""
