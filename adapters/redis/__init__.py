"""Memory shared by all processes: limits, a copy of the token versions, positions of last writes, and the cache."""
