"""What is minimised: replay errors of windows as a function of parameters."""
