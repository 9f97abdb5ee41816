"""Memory that all processes share: limits, a copy of the token versions, positions of last writes, and the cache."""
