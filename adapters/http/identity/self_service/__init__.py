"""Endpoints for users' own accounts: profile, sessions, address, identities, stored data."""
