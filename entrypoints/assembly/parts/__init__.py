"""Builders of the parts' use cases, one module for each part; ``shared`` has the objects that several parts use."""
