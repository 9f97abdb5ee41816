"""Endpoints by which users look after their own accounts: profile, sessions, address, identities, stored data."""
