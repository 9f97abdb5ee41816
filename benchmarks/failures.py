"""The error that makes a run of the benchmarks invalid."""


class BenchmarkFailed(Exception):
    """A failed run; the message is for the person who started it."""
