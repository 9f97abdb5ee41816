"""Service accounts and their API keys, in PostgreSQL.

Nothing else of identity stands here.
"""
