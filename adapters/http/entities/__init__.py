"""Endpoints of area B, made for every entity of the registry."""
