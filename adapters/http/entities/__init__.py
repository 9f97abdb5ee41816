"""Endpoints of area B, created for every entity of the registry."""
