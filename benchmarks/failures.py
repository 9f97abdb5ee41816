"""The error that makes a run of the benchmarks invalid."""


class BenchmarkFailed(Exception):
    """A failed run; the message is for the person who started it."""


class NothingAnswered(BenchmarkFailed):
    """A measurement without an answer: the machine was too busy for it, and says nothing about the server."""
