"""The list of users: one page and its total, fast for tenants of five and of a hundred thousand members."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import asyncpg
import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import ColumnElement, Select, func

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.identity.listings import (
    SHAPES,
    TABLES,
    ensure_sortable,
    ordering,
    page_values,
    paged,
    search_conditions,
    search_values,
    total_told_by,
)
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from application.ports.identity.users import ListedUser, Listing
from domain.identity.users import User

COLUMNS = User.__struct_fields__

FEW = 2_000
"""Maximum number of candidates to fetch by id and sort; for more, an index gives the order."""

_USERS, _MEMBERSHIPS = TABLES["users"], TABLES["memberships"].alias("m")
_ROLES, _TENANT_ROLES, _SYSTEM_ROLES = (
    TABLES["roles"].alias("r"),
    TABLES["membership_roles"].alias("h"),
    TABLES["user_roles"].alias("h"),
)
_TENANT = parameter("tenant", sa.Uuid())
_ROLE_IDS = "SELECT id FROM roles WHERE (tenant_id = $1 OR tenant_id IS NULL) AND name = $2"


class Candidates(Struct, frozen=True):
    """Users that a list chooses from: all users, the members of a tenant, or the holders of roles.

    ``roles`` is the number of roles with the requested name; None without a requested name.
    """

    in_tenant: bool
    roles: int | None = None

    @property
    def is_everybody(self) -> bool:
        return not self.in_tenant and self.roles is None

    def ids(self) -> Select[Any]:
        if self.roles is None:
            return sa.select(_MEMBERSHIPS.c.user_id).where(_MEMBERSHIPS.c.tenant_id == _TENANT)
        held = _TENANT_ROLES if self.in_tenant else _SYSTEM_ROLES
        holders = sa.select(held.c.user_id).where(held.c.role_id == sa.any_(parameter("roles", sa.ARRAY(sa.Uuid()))))
        if self.in_tenant:
            holders = holders.where(held.c.tenant_id == _TENANT)
        return holders.distinct() if self.roles > 1 else holders  # a user may hold two roles of the same name


class UserFilter(Struct, frozen=True):
    """Conditions of a list without values; ``search`` are the keys of ``search_values``."""

    candidates: Candidates
    are_few: bool
    by_activity: bool
    by_id: bool
    search: tuple[str, ...]

    @property
    def takes_all_candidates(self) -> bool:
        return not (self.by_activity or self.by_id or self.search)

    def conditions(self) -> list[ColumnElement[bool]]:
        found = list(search_conditions(_USERS.c.full_name + constant(" ") + _USERS.c.email, self.search))
        if self.by_activity:
            found.append(_USERS.c.is_active == parameter("is_active", sa.Boolean()))
        if self.by_id:
            found.append(_USERS.c.id == sa.any_(parameter("ids", sa.ARRAY(sa.Uuid()))))
        if self.candidates.is_everybody:
            return found
        ids = self.candidates.ids()
        # For few candidates use an array, so that PostgreSQL looks up each id. With IN, the planner may read all users
        # and check each one.
        return [*found, _USERS.c.id == sa.any_(_array(ids)) if self.are_few else _USERS.c.id.in_(ids)]


@dataclass(frozen=True, slots=True)
class UserPageStatement:
    """Reads one page of users and the exact total."""

    connection: ServiceConnection
    listing: Listing

    async def read(self) -> tuple[list[ListedUser], int]:
        """Return a page and the total. First count the candidates: this decides the plan and may be the total."""
        listing = self.listing
        ensure_sortable(listing, COLUMNS)
        values = await self._values()
        candidates = Candidates(listing.tenant_id is not None, len(values["roles"]) if "roles" in values else None)
        few = None if candidates.is_everybody else await self._count(_few_statement(candidates), values)
        are_few = few is not None and few <= FEW
        chosen = UserFilter(
            candidates=candidates,
            are_few=are_few,
            by_activity=listing.is_active is not None,
            by_id=listing.ids is not None,
            search=tuple(search_values(listing.search)),
        )
        rows = await self._fetch(_page_statement(chosen, listing.sort_by, listing.descending), values)
        total = few if are_few and chosen.takes_all_candidates else total_told_by(listing, len(rows))
        if total is None:
            total = await self._count(_total_statement(chosen), values)
        return [_listed(row) for row in rows], total

    async def _values(self) -> dict[str, Any]:
        listing = self.listing
        values: dict[str, Any] = {"tenant": listing.tenant_id, "is_active": listing.is_active, "ids": listing.ids}
        values |= {**search_values(listing.search), **page_values(listing)}
        if listing.role is not None:
            # With ids instead of the name, statistics show the number of role holders.
            found = await self.connection.fetch(_ROLE_IDS, listing.tenant_id, listing.role)
            values["roles"] = [row["id"] for row in found]
        return values

    async def _count(self, statement: CompiledStatement, values: Mapping[str, Any]) -> int:
        (row,) = await self._fetch(statement, values)
        return int(row["count"])

    async def _fetch(self, statement: CompiledStatement, values: Mapping[str, Any]) -> list[asyncpg.Record]:
        # Plan each call: the best plan for one tenant or word is the worst for another.
        return await self.connection.fetch_anew(statement.text, *statement.arguments(values))


@lru_cache(SHAPES)
def _page_statement(chosen: UserFilter, sort_by: str, descending: bool) -> CompiledStatement:
    """Return the statement that reads columns and roles only for the page's rows."""
    order = ordering(_USERS, sort_by, descending=descending)
    page = paged(sa.select(_USERS.c.id).where(*chosen.conditions()).order_by(*order)).subquery("page")
    told = [_role_names(chosen.candidates).label("role_names"), _is_owner(chosen.candidates).label("is_owner")]
    columns = [*(_USERS.c[name] for name in COLUMNS), *told]
    rows = sa.select(*columns).select_from(page.join(_USERS, _USERS.c.id == page.c.id))
    return compiled(rows.order_by(*order))


@lru_cache(SHAPES)
def _total_statement(chosen: UserFilter) -> CompiledStatement:
    if chosen.takes_all_candidates and not chosen.candidates.is_everybody:
        return compiled(
            sa.select(func.count().label("count")).select_from(chosen.candidates.ids().subquery("candidates"))
        )
    return compiled(sa.select(func.count().label("count")).select_from(_USERS).where(*chosen.conditions()))


@lru_cache(SHAPES)
def _few_statement(candidates: Candidates) -> CompiledStatement:
    some = candidates.ids().limit(constant(FEW + 1, sa.Integer())).subquery("candidates")
    return compiled(sa.select(func.count().label("count")).select_from(some))


def _role_names(candidates: Candidates) -> ColumnElement[Any]:
    held = _TENANT_ROLES if candidates.in_tenant else _SYSTEM_ROLES
    names = sa.select(_ROLES.c.name).select_from(held.join(_ROLES, _ROLES.c.id == held.c.role_id))
    if candidates.in_tenant:
        names = names.where(held.c.tenant_id == _TENANT)
    return _array(names.where(held.c.user_id == _USERS.c.id).order_by(_ROLES.c.name, _ROLES.c.id).correlate(_USERS))


def _is_owner(candidates: Candidates) -> ColumnElement[bool]:
    if not candidates.in_tenant:
        return sa.false()
    owned = sa.select(_MEMBERSHIPS.c.user_id).where(_MEMBERSHIPS.c.tenant_id == _TENANT, _MEMBERSHIPS.c.is_owner)
    return owned.where(_MEMBERSHIPS.c.user_id == _USERS.c.id).correlate(_USERS).exists()


def _array(ids: Select[Any]) -> ColumnElement[Any]:
    return func.array(ids.scalar_subquery())


def _listed(row: asyncpg.Record) -> ListedUser:
    *columns, role_names, is_owner = row.values()
    return ListedUser(User(**dict(zip(COLUMNS, columns, strict=True))), tuple(role_names), is_owner)
