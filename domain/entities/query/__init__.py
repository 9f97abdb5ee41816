"""The query grammar of lists, reads and exports: from query parameters to a ``Query`` value.

Pure functions; SQL is made from a ``Query`` in ``adapters/postgres/entities``.
"""
