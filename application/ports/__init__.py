"""Ports: the Protocols required by use cases, with each method's contract in its docstring."""
