"""Audit trail, outbox, token versions, retention and upkeep on PostgreSQL.

A statement on rows is one literal constant, prepared against the schema by a test. Commands on whole tables, whose
names vary, are made by ``on_table``.
"""
