"""Identify: physical parameters from recordings."""
