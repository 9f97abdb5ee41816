"""Endpoints of an account: registration, confirmation of its address, and its password."""
