"""Permissions of entities."""

from domain.entities.declaration import ACTIONS_ON_OWN, Registry


def permissions_of(registry: Registry) -> list[str]:
    """Return the names of permissions added by served entities, including those of guarded fields."""
    actions = ("create", "read", "update", "delete")
    of_entities = [model.permission(action) for model in registry.stored for action in actions]
    of_entities += [model.permission("read") for model in registry if model.declaration.is_view]
    of_entities += [model.permission("purge") for model in registry if model.can_be_purged]
    of_entities += [model.permission("share") for model in registry if model.declaration.shared]
    owned = [model for model in registry if model.declaration.own]
    of_entities += [name for model in owned for action in ACTIONS_ON_OWN for name in model.permissions(action)[1:]]
    guards = [field.guard for model in registry for field in model.fields]
    of_fields = [name for guard in guards for name in (guard.read, guard.write) if name is not None]
    return list(dict.fromkeys([*of_entities, *of_fields]))
