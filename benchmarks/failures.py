"""Why a run of the benchmarks is worth nothing."""


class BenchmarkFailed(Exception):
    """The message is for whoever started it."""
