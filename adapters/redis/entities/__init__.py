"""Signals of the log of changes."""
