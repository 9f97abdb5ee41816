"""Endpoints of service accounts: their administration, their keys, and their tokens."""
