"""Endpoints of second factors and passkeys, and of a proof that is repeated."""
