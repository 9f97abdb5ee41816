"""Ports of identity on dictionaries."""
