"""Mistakes in declarations, found at start: of entities, fields, patterns and methods, each with its place.

Here stand checks alone; the reading of declarations is in ``registry``, and nothing here knows a store.
"""
