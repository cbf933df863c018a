"""Files that are copied into exports as they are: they import nothing of gapless."""
