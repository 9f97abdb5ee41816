"""Use cases of operation: first start, signing keys, mail delivery, housekeeping and monitoring."""
