"""Errors in declarations, reported at startup with file and line: entities, fields, patterns and methods.

This package only checks and needs no database; ``registry`` reads declarations.
"""
