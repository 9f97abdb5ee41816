"""Backups with PostgreSQL's programs: finding versions that fit the server, dump and restore."""
