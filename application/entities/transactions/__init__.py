"""Writes of several parts in one transaction: operations on several entities, upserts, and the rules of their rows."""
