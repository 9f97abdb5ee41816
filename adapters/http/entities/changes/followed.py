"""What a caller follows: the rights and filters of a request, for pages and streams."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from application.entities.changes.following import Interests
from application.entities.guarded_fields import GuardedFields
from domain.entities.changes.feeds import IDENTITY_ENTITIES
from domain.entities.changes.identity_events import ensure_may_read_identity
from domain.entities.changes.seeing import Interest
from domain.entities.declaration import SOFT_DELETE, EntityModel, Registry
from domain.entities.markers import MEMBERS
from domain.entities.owning import RowLimits
from domain.entities.query.query import Condition
from domain.limits import Limit
from domain.scope import Caller, OwnRows, Scope

DELETION = frozenset(field.name for field in SOFT_DELETE)
"""Filters by these fields also follow deleted rows."""
LIMIT = Limit("changes", 120)
"""Limit of pages and of new streams together."""


@dataclass(frozen=True)
class AllFeeds:
    registry: Registry

    @cached_property
    def limits(self) -> RowLimits:
        return RowLimits(self.registry, None)

    @cached_property
    def fields(self) -> dict[str, GuardedFields]:
        models = (model for model in self.registry if model.declaration.changes)
        return {model.plural: GuardedFields(model, self.registry) for model in models}

    def interests(self, caller: Caller, scope: Scope, named: Iterable[str] | None) -> Interests:
        """Return what the caller follows. Raises Forbidden for a named entity that the caller may not read."""
        fields = self.fields
        if named is None:
            chosen = [plural for plural, each in fields.items() if caller.rights.may(*each.model.permissions("read"))]
        else:
            chosen = [plural for plural in named if plural in fields]
            for plural in chosen:
                caller.ensure_may(*fields[plural].model.permissions("read"))
        return {
            **{plural: interest_in(caller, scope, fields[plural], ()) for plural in chosen},
            **identity_interests(caller, self.registry, named or ()),
        }


def identity_interests(caller: Caller, registry: Registry, named: Iterable[str]) -> Interests:
    """Return the interests in members, roles and tenants. Raises Forbidden for one that the caller may not read."""
    chosen = [plural for plural in IDENTITY_ENTITIES if plural in named]
    for plural in chosen:
        ensure_may_read_identity(plural, caller)
    # These entries have no filters and no rules, so any model without rules serves.
    return {plural: Interest(model=registry[MEMBERS]) for plural in chosen}


def interest_in(caller: Caller, scope: Scope, fields: GuardedFields, where: tuple[Condition, ...]) -> Interest:
    model: EntityModel = fields.model
    is_limited = isinstance(scope, OwnRows) and model.plural in scope.sees
    own_of = scope.user_id if isinstance(scope, OwnRows) and is_limited else None
    # Security: as in lists, deleted rows need the permission to delete them, and that for own rows shows only those.
    shows = model.permissions("delete") if is_limited else (model.permission("delete"),)
    with_deleted = any(condition.path.field in DELETION for condition in where) and caller.rights.may(*shows)
    hidden = fields.hidden_from(caller)
    return Interest(model=model, hidden=hidden, where=where, own_of=own_of, with_deleted=with_deleted)
