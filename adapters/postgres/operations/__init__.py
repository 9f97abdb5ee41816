"""Audit trail, outbox, token versions, retention and upkeep on PostgreSQL.

Each statement on rows is a literal constant, prepared against the schema by a test. ``on_table`` builds commands on
whole tables by name.
"""
