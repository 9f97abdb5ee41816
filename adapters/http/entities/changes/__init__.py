"""Handlers of the feed of changes."""
