"""Memory that all processes share: limits, a copy of the token versions, and the cache."""
