"""Corrections without reinforcement learning: slopes of a world along recordings."""
