"""The use cases: one dataclass per room, one method per use case, reading like the specification."""
