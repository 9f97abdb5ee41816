"""The list of users: one page and its total, quick for tenants of five members and of a hundred thousand."""

from dataclasses import dataclass, field

import asyncpg

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.identity.listings import Conditions, order_by
from adapters.postgres.schema.sql import without_case
from application.ports.identity.listing import Listing
from application.ports.identity.users import ListedUser
from domain.identity.users import User

COLUMNS = User.__struct_fields__

SEARCHED = without_case("(full_name || ' ' || email)")
"""What a search looks through; words hold no blank, so none is found across the two."""

FEW = 2_000
"""Up to so many are fetched by their ids and sorted; of more, an index is walked in the order asked for."""

_HELD_IN_TENANT = "membership_roles h JOIN roles r ON r.id = h.role_id WHERE h.tenant_id = $1"
_HELD_AS_SUCH = "user_roles h JOIN roles r ON r.id = h.role_id WHERE true"


_ROLES = "SELECT id FROM roles WHERE (tenant_id = $1 OR tenant_id IS NULL) AND name = $2"


@dataclass
class UserPageStatement:
    """``of`` selects the ids of those whom the listing is about, None when that is everybody."""

    connection: ServiceConnection
    listing: Listing
    conditions: Conditions = field(default_factory=Conditions)

    async def read(self) -> tuple[list[ListedUser], int]:
        """First how many there are to choose from: it decides how, and is the total when nothing else is asked."""
        about, held = self.conditions, _HELD_AS_SUCH
        if self.listing.tenant_id is not None:
            about.value(self.listing.tenant_id, "uuid")
            held = _HELD_IN_TENANT
        of = await self._pool()
        few = None if of is None else await self._few(of)
        self._choose()
        is_whole = not about.parts
        if of is not None:
            about.add(f"id IN ({of})" if few is None else f"id = ANY (ARRAY({of}))")
        rows = await self._fetch(self._page(held))
        return [_listed(row) for row in rows], await self._total(len(rows), few if is_whole else None, of, is_whole)

    async def _pool(self) -> str | None:
        """The role is looked up first: by its id the server knows how many hold it."""
        here = self.listing.tenant_id
        if self.listing.role is not None:
            found = [row["id"] for row in await self.connection.fetch(_ROLES, here, self.listing.role)]
            roles = self.conditions.value(found, "uuid[]")
            held = "user_roles h WHERE" if here is None else "membership_roles h WHERE h.tenant_id = $1 AND"
            once = "DISTINCT " if len(found) > 1 else ""
            return f"SELECT {once}h.user_id FROM {held} h.role_id = ANY ({roles})"
        return None if here is None else "SELECT m.user_id FROM memberships m WHERE m.tenant_id = $1"

    def _choose(self) -> None:
        if self.listing.is_active is not None:
            self.conditions.add(f"is_active = {self.conditions.value(self.listing.is_active, 'boolean')}")
        self.conditions.search(SEARCHED, self.listing.search)

    def _page(self, held: str) -> str:
        """Rows and roles are fetched for what is shown, and not for what is skipped."""
        ordered, *_ = order_by(self.listing, COLUMNS).partition(" LIMIT")
        columns = ", ".join(COLUMNS)
        return f"""
        SELECT {columns}, ARRAY(SELECT r.name FROM {held} AND h.user_id = users.id ORDER BY r.name, r.id) AS role_names
        FROM (SELECT id FROM users {self.conditions} {order_by(self.listing, COLUMNS)}) page
        JOIN users USING (id) {ordered}"""

    async def _few(self, of: str) -> int | None:
        """How many, None when they are more than a few."""
        (row,) = await self._fetch(f"SELECT count(*) FROM ({of} LIMIT {FEW + 1}) chosen")
        return row["count"] if row["count"] <= FEW else None

    async def _total(self, length: int, few: int | None, of: str | None, is_whole: bool) -> int:
        """Counted only when the page does not tell it already."""
        listing = self.listing
        if few is not None:
            return few
        if 0 < length < listing.page_size or (listing.page == 1 and length == 0):
            return (listing.page - 1) * listing.page_size + length
        counted = f"({of}) chosen" if of is not None and is_whole else f"users {self.conditions}"
        (row,) = await self._fetch(f"SELECT count(*) FROM {counted}")
        return int(row["count"])

    async def _fetch(self, statement: str) -> list[asyncpg.Record]:
        """Planned anew each time: what serves one tenant, or one word, is the worst way for another."""
        prepared = await self.connection.prepare(statement)
        return await prepared.fetch(*self.conditions.values[: len(prepared.get_parameters())])


def _listed(row: asyncpg.Record) -> ListedUser:
    *columns, role_names = row.values()
    return ListedUser(User(**dict(zip(COLUMNS, columns, strict=True))), tuple(role_names))
