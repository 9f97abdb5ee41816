"""Query grammar of lists, reads and exports: from query parameters to a ``Query`` value.

Pure functions; ``adapters/postgres/entities`` converts a ``Query`` to SQL.
"""
