"""Long commands that are killed: the same command again gives what it would have given."""
