"""Builders of use cases, one module per part; ``shared`` has objects used by several parts."""
