"""Audit trail, outbox, token versions and retention on PostgreSQL."""
