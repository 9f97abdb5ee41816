"""Ports of identity on PostgreSQL, one file per group of tables.

Statements with fixed text are literal constants, prepared against the schema by a test. Others use SQLAlchemy Core,
compiled once per shape. Entities' rows are not here.
"""
