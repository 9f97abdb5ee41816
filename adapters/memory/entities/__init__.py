"""Ports of entities in dictionaries of one process."""
