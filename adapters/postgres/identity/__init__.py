"""Ports of identity on PostgreSQL, one file for each group of tables."""
