"""Ways to minimise a problem, by name."""
