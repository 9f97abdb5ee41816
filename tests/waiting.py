"""How long a test waits before it takes something for hung. No test says by it how quick something is."""

HUNG_AFTER = 200.0
"""Seconds, many times what anything takes that is waited for: a machine may be several times slower than another."""
