"""Type of each part's data."""

from collections.abc import Mapping

from msgspec import Struct

from domain.retention import RetentionRule
from domain.scope import Rights


class AdministrationArea(Struct, frozen=True):
    """An area of administration: ``permission`` opens the endpoint that lists its objects."""

    name: str
    permission: str
    super_admin: bool = False

    def is_open_to(self, rights: Rights) -> bool:
        return rights.may(self.permission) and (rights.is_super_admin or not self.super_admin)


class Columns(Struct, frozen=True, kw_only=True):
    """Columns of a table by protection level, with blanks between the names; docs/reference/data.md."""

    secret: str = ""
    personal: str = ""
    internal: str = ""
    public: str = ""

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        return {level: tuple(getattr(self, level).split()) for level in self.__struct_fields__}


class Part(Struct, frozen=True, kw_only=True):
    """Data of one part of the service.

    ``permissions`` are those of its endpoints. ``audit_actions`` maps each recorded action to its meaning; braces mark
    varying text, as in ``domain.added:{domain}``. ``areas`` are its areas of administration, ``retention``
    housekeeping's rules for its data. ``tables`` are the tables reserved from entities, with their columns.
    """

    permissions: tuple[str, ...] = ()
    audit_actions: Mapping[str, str] = {}
    areas: tuple[AdministrationArea, ...] = ()
    retention: tuple[RetentionRule, ...] = ()
    tables: Mapping[str, Columns] = {}


def permissions_on(noun: str) -> tuple[str, ...]:
    """Return the four permissions on a resource: ``create:roles``, ``read:roles`` and so on."""
    return tuple(f"{action}:{noun}" for action in ("create", "read", "update", "delete"))
