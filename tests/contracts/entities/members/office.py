"""Entities whose rows name members, and two tenants with members to try them on."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import msgspec
import pytest
from msgspec import Struct

from application.entities.checks.rule_rows import TransactionRows
from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import Act, Change, Current, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import FieldModel
from domain.entities.markers import entity, member, unique
from domain.entities.query.query import Operator, View
from domain.entities.query.read_query import read_query
from domain.entities.registry import build_registry
from domain.entities.rules import OtherRows, where
from domain.errors import FieldError, ValidationError
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import NOW, new_id, tenant, user

ACT = Act(by=new_id(), at=NOW)
DELETED = View(include_deleted=True)


@entity("errands", history=True)
class Errand(Struct, rename="camel", kw_only=True):
    title: str
    assignee_id: Annotated[UUID | None, member(on_leave="clear")] = None
    second_id: Annotated[UUID | None, member(on_leave="clear")] = None


@entity("letters")
class Letter(Struct, rename="camel", kw_only=True):
    title: str
    writer_id: Annotated[UUID | None, member(on_leave="restrict")] = None
    reader_id: Annotated[UUID | None, member(on_leave="clear")] = None


@entity("memos", unique=[unique("title")])
class Memo(Struct, rename="camel", kw_only=True):
    title: str
    author_id: Annotated[UUID, member(on_leave="keep", relation="by")]


@entity("shifts")
class Shift(Struct, rename="camel", kw_only=True):
    """A member has one shift; the rule locks the member."""

    title: str
    worker_id: Annotated[UUID, member(on_leave="clear")] | None = None

    async def check_stored(self, before: "Shift | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        if self.worker_id is not None and await rows.count(Shift, where("worker_id", Operator.EQ, self.worker_id)) > 1:
            yield FieldError("workerId", "has a shift already")


DESK = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Errand, Letter, Memo, Shift])
FIELDS = {"errands": "assignee_id", "letters": "writer_id", "memos": "author_id", "shifts": "worker_id"}


@dataclass
class Office:
    """Two tenants: Ada is a member of both, Ben of the first, Cem of the second, and Dan of none."""

    database: WholeDatabase
    people: dict[str, UUID]
    here: OneTenant
    there: OneTenant

    async def add(self, plural: str, who: UUID | None, scope: OneTenant | None = None, **values: object) -> UUID:
        return (await self.add_all(plural, [who], scope, **values))[0]

    async def add_all(
        self, plural: str, people: list[UUID | None], scope: OneTenant | None = None, **values: object
    ) -> list[UUID]:
        model = DESK[plural]
        empty = {field.name: None for field in model.declared}
        rows = [NewRow(new_id(), {**empty, "title": str(new_id()), FIELDS[plural]: who, **values}) for who in people]
        async with self.database.transaction(scope or self.here) as tx:
            await tx.records.add(model, rows, ACT)
            for row in rows if model.asks_other_rows else ():
                assert await TransactionRows(tx.records, DESK).broken_by_stored(model, row.id, None) == []
        return [row.id for row in rows]

    async def change(self, plural: str, *changes: Change) -> None:
        async with self.database.transaction(self.here) as tx:
            await tx.records.change(DESK[plural], changes, ACT)

    async def current(self, plural: str, row_id: UUID, scope: OneTenant | None = None) -> Current:
        async with self.database.transaction(scope or self.here) as tx:
            return (await tx.records.current(DESK[plural], [row_id]))[row_id]

    async def leave(self, name: str, tenant_id: UUID | None = None) -> None:
        """End the membership in this tenant, or delete the account."""
        user_id = self.people[name]
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(user_id)
            await tx.member_references.release(user_id, tenant_id, ACT.by or user_id, ACT.at)
            if tenant_id is None:
                await tx.users.remove(user_id)
            else:
                assert await tx.memberships.remove(user_id, tenant_id)

    async def listed(self, plural: str, scope: Scope, **parameters: str) -> list[dict[str, object]]:
        model = DESK[plural]
        async with self.database.read_only(scope) as read:
            page = await read.records.page(model, read_query(model, DESK, frozenset(), parameters.items()))
        found: list[dict[str, object]] = msgspec.json.decode(page.items)
        return found

    async def load(self, plural: str, lines: list[str], key: FieldModel | None = None) -> Loaded:
        async def pieces() -> AsyncIterator[bytes]:
            yield "".join(lines).encode()

        async with self.database.transaction(self.here) as tx:
            return await tx.transfers.load(DESK[plural], pieces(), Loading(ACT, key))


async def refusal(writing: object) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        await writing  # type: ignore[misc]
    return [(wrong.field, wrong.message) for wrong in caught.value.fields]


async def furnished(database: WholeDatabase) -> Office:
    homes = (tenant(), tenant())
    people = {name: user(full_name=name) for name in ("Ada", "Ben", "Cem", "Dan")}
    async with database.transaction(EveryTenant()) as tx:
        for home in homes:
            await tx.tenants.add(home)
        for each in people.values():
            await tx.users.add(each)
        for home, names in zip(homes, (("Ada", "Ben"), ("Ada", "Cem")), strict=True):
            for name in names:
                await tx.memberships.save(people[name].id, home.id, [], None, NOW)
    ids = {name: each.id for name, each in people.items()}
    return Office(database, ids, OneTenant(homes[0].id), OneTenant(homes[1].id))
