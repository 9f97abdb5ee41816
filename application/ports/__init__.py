"""Ports: the Protocols that use cases need, each method with its contract in its docstring."""
