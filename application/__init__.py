"""Use cases: a dataclass per group, a method per use case."""
