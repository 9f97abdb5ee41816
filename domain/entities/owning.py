"""Own rows: the rows of which an ownership rule of the entity holds for the caller."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from msgspec import Struct

from domain.entities.declaration import ACTIONS_ON_OWN, EntityModel, Registry
from domain.entities.markers import Mine
from domain.errors import FieldError, Forbidden
from domain.scope import Caller, OneTenant, OwnRows, Rights, Scope

CREATOR = "created_by"
NOT_YOURS = "would not be yours"
REMEMBERED = 1_024

ShareLevel = Literal["read", "update"]
MOST_SHARES = 100
"""Maximum number of shares of a row."""
# A member who may update a row also sees it.
_LEVELS: Mapping[str, tuple[ShareLevel, ...]] = {"read": ("read", "update"), "update": ("update",)}


def sharing_levels(model: EntityModel, action: str) -> tuple[ShareLevel, ...]:
    """Return the levels of shares that allow the action: a share allows no creation and no deletion."""
    return _LEVELS.get(action, ()) if model.declaration.shared else ()


class Limits(Struct, frozen=True, cache_hash=True):
    """The limits of a caller to own rows; ``OwnRows`` explains the sets."""

    sees: frozenset[str]
    touches: frozenset[str]

    def hide(self, model: EntityModel) -> bool:
        """Whether the caller sees only own rows of the entity."""
        return model.plural in self.sees

    def bind(self, model: EntityModel, action: str) -> bool:
        """Whether the caller may do this only to own rows of the entity: ``create``, ``update`` or ``delete``."""
        return model.permission(action) in self.touches

    def ask_of_change(self, model: EntityModel, sent: Collection[str]) -> bool:
        """Whether a change of these fields could make a row another user's."""
        is_limited = self.hide(model) or self.bind(model, "update")
        return is_limited and any(name in sent for name in deciding_fields(model))

    def ask_of_new(self, model: EntityModel) -> bool:
        """Whether a new row could be another user's."""
        return self.bind(model, "create") and Mine(CREATOR) not in model.declaration.own


NO_LIMITS = Limits(frozenset(), frozenset())


def limits_in(scope: Scope) -> Limits:
    return Limits(scope.sees, scope.touches) if isinstance(scope, OwnRows) else NO_LIMITS


@lru_cache(REMEMBERED)
def limits_of(registry: Registry, rights: Rights) -> Limits:
    """Return the limits of callers with these rights: they hold only the permission for own rows."""
    limited = [model for model in registry if model.declaration.own]
    return Limits(
        frozenset(model.plural for model in limited if _sees_own(model, rights)),
        frozenset(name for model in limited for name in _touches(model, rights)),
    )


def _sees_own(model: EntityModel, rights: Rights) -> bool:
    # A caller without any permission to read sees as little as the permissions for own rows show.
    return not rights.may(model.permission("read")) and any(_holds_own(model, rights, name) for name in ACTIONS_ON_OWN)


def _touches(model: EntityModel, rights: Rights) -> Iterator[str]:
    limited = [action for action in ACTIONS_ON_OWN if is_limited(model, rights, action)]
    yield from (model.permission(action) for action in limited if action != "read")
    if "read" in limited or "update" in limited:
        yield model.permission("create")


def is_limited(model: EntityModel, rights: Rights, action: str) -> bool:
    """Return whether a caller with these rights may do this to own rows, and not to other rows."""
    return not rights.may(model.permission(action)) and _holds_own(model, rights, action)


def _holds_own(model: EntityModel, rights: Rights, action: str) -> bool:
    return bool(model.declaration.own) and rights.may(*model.permissions(action)[1:])


@dataclass(frozen=True)
class RowLimits:
    """The limits to own rows in requests about one entity; ``model`` is None for requests about several."""

    registry: Registry
    model: EntityModel | None

    @cached_property
    def can_limit(self) -> bool:
        """Whether the entity, or one that relations lead to from it, has ownership rules."""
        reached = self.registry if self.model is None else self.registry.reached_from(self.model)
        return any(model.declaration.own for model in reached)

    def of(self, scope: Scope, caller: Caller) -> Scope:
        """Return the scope, limited to own rows if the caller's permissions allow no more."""
        if not self.can_limit:
            return scope
        limits = limits_of(self.registry, caller.rights)
        if not (limits.sees or limits.touches):
            return scope
        if not isinstance(scope, OneTenant):
            raise Forbidden
        return OwnRows(scope.id, scope.sees_all, user_id=caller.user_id, sees=limits.sees, touches=limits.touches)


def without_limits(scope: Scope) -> Scope:
    """Return the scope of all rows of the tenant."""
    return OneTenant(scope.id, scope.sees_all) if isinstance(scope, OwnRows) else scope


def deciding_fields(model: EntityModel) -> tuple[str, ...]:
    """Return the fields of a row by which the ownership rules decide."""
    rules = model.declaration.own
    names = (rule.field if isinstance(rule, Mine) else model.relations[rule.to_one].by for rule in rules)
    return tuple(dict.fromkeys(names))


def not_yours(model: EntityModel, sent: Collection[str], place: str = "") -> FieldError:
    """Return the error of a row that would not be the caller's own, on the deciding field."""
    names = [name for name in deciding_fields(model) if name in sent]
    return FieldError(f"{place}{model.by_name[names[0]].wire}", NOT_YOURS)
