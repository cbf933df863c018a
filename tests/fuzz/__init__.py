"""Damaged files: every reader reads them or refuses them with an error of our own."""
