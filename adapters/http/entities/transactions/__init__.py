"""Handlers that write several rows in one transaction: operations on several entities, and upserts."""
