"""In which order parameters are fitted, to which recordings."""
