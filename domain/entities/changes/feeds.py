"""Entities with a feed."""

from domain.entities.declaration import Registry

LARGEST_ENTRY_BYTES = 65_536
"""Maximum bytes of JSON in ``data`` and in ``was``; a larger entry is logged without both."""

FORMER = ("updated_at", "updated_by", "deleted_at", "deleted_by")
"""Fields of the service with former values in ``was``; those of others follow from the action."""

IDENTITY_ENTITIES = ("members", "roles", "tenants")
"""Entities of the log without rows of a declared entity."""


def has_feeds(registry: Registry) -> bool:
    """Return whether the changes of some entity are logged."""
    return any(model.declaration.changes for model in registry)
