"""Audit trail, outbox, token versions and retention on PostgreSQL.

Every statement is one literal constant, prepared against the schema by a test.
"""
