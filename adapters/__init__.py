"""Implementations of the ports, and the HTTP interface: one folder per technology, none of which imports another."""
