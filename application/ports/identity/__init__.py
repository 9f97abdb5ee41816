"""Ports of identity: the database, passwords, tokens and social providers."""
