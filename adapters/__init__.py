"""Implementations of the ports, and the HTTP interface: one folder per technology. No folder imports another."""
