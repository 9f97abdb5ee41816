"""Use cases: a dataclass per group of use cases, a method per use case."""
