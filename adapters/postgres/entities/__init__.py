"""Rows of entities on PostgreSQL: ``reading/``, ``writing/`` and ``files/``, and related tables."""
