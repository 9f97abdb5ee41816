"""Ports of identity on PostgreSQL, one file for each group of tables.

A statement whose text never varies is one literal constant, prepared against the schema by a test. Statements whose
conditions, columns or order vary are SQLAlchemy Core, compiled once for each shape. Entities' rows are not here.
"""
