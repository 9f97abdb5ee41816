"""Ports of entities on dictionaries."""
