"""Backups by PostgreSQL's own programs: finding those that fit the server, dumping, and restoring.

Nothing here knows what is stored.
"""
