"""Endpoints of logins by password and at social providers, and the keys that verify their tokens."""
