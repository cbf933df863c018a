"""Parameters from logged torques, by inverse dynamics."""
