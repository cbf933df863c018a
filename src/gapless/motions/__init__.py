"""Motions: excitation trajectories and reference motions."""
