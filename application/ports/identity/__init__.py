"""Ports of identity: what its use cases ask of the database, of passwords and of tokens."""
