"""Rows of an entity that the API only shows, which refer to rows that somebody deletes."""

from pathlib import Path
from typing import Annotated
from uuid import UUID

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, NewRow
from domain.entities.markers import ref
from domain.entities.query.query import WHOLE
from domain.scope import OneTenant
from tests.adapters.postgres.changed_books import Books, declared
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

HERE = OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)


async def test_a_reference_of_theirs_is_cleared_and_they_go_along(new_database: NewDatabase, tmp_path: Path) -> None:
    """They have no version, no author and no time of a change that a deletion would write."""
    fields = [
        ("title", str),
        ("category_id", Annotated[UUID | None, ref("categories", on_delete="clear")], None),
        ("origin_id", Annotated[UUID | None, ref("categories", on_delete="cascade", permanent=True)], None),
    ]
    registry = declared(fields, soft_delete=False, writable=False, sort="title")
    books = Books(await new_database(), tmp_path)
    await books.migrate(registry)
    database = PostgresDatabase(books.url, registry, CountingIds(), connections=1)
    await database.open()
    categories, staying, going = registry["categories"], new_id(), new_id()
    async with database.transaction(HERE) as tx:
        found = await tx.records.add(
            categories, [NewRow(new_id(), {"name": name, "description": None}) for name in "AB"], ACT
        )
    first, second = (stored.id for stored in found)
    insert = "INSERT INTO books (tenant_id, id, title, category_id, origin_id) VALUES ($1, $2, $3, $4, $5)"
    await books.ask(insert, HERE.id, staying, "stays", first, None)
    await books.ask(insert, HERE.id, going, "goes", None, second)
    async with database.transaction(HERE) as tx:
        assert await tx.records.remove(categories, [first, second], ACT, None) == [first, second]
    async with database.read_only(HERE) as read:
        assert await read.records.get(registry["books"], going, WHOLE) is None
        left = await read.records.get(registry["books"], staying, WHOLE)
    assert left is not None
    assert b'"categoryId":null' in bytes(left.body)
    await database.close()
