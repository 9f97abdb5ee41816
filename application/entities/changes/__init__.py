"""Use cases of the log of changes."""
