"""Endpoints of area A, one file for each resource."""
