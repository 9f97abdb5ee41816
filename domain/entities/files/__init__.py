"""Imported files: their cells."""
