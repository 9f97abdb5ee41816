"""The memory that all processes share: limits, and a copy of the revocation counts, in one round trip."""
