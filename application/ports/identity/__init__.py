"""Ports of identity: its database interfaces, passwords, tokens, tickets, passkeys, domains and social providers."""
