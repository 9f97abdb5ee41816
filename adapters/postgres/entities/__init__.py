"""Rows of entities on PostgreSQL: ``reading/``, ``writing/`` and ``files/``, and the tables beside them."""
