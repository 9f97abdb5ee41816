"""Ports of identity: its parts of the database, passwords, tokens, tickets, passkeys, domains and social providers."""
