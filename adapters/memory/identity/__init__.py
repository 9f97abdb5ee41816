"""Ports of identity in dictionaries of one process."""
