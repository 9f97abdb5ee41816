"""Endpoints of identity, area A of the specification: one folder per part."""
