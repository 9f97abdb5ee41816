"""Endpoints of an account: registration, address confirmation and password."""
