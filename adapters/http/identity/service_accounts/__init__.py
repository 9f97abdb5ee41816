"""Endpoints of service accounts: administration, keys and tokens."""
