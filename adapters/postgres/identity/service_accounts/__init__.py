"""Service accounts and their API keys, in PostgreSQL."""
