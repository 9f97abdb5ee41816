"""Endpoints of logins by password and at social providers, and the public keys of their tokens."""
