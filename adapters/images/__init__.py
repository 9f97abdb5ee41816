"""Thumbnails of images, made by child processes. They need the optional package Pillow: ``tenantry[images]``.

This package imports nothing itself, because every child process would import it too.
"""

UNREADABLE = 3
"""Exit status of a child process whose image cannot be decoded."""
