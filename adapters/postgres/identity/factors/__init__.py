"""Second factors in PostgreSQL.

The parent folder has the rest of identity.
"""
