"""Renames of fields with files, and of the entities that hold them: the entries of the files move with them."""

from typing import Annotated, Any
from uuid import UUID, uuid4

import pytest
from msgspec import defstruct

from adapters.postgres.migrations.migrate import downgrade, pending_sql
from domain.entities.attachments.marks import attachment, attachments
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity
from domain.entities.registry import build_registry
from tests.adapters.postgres.migrations.changed_books import Books, Fields

PHOTO: Any = Annotated[UUID | None, attachment(["image/png"], 1_000)]
PLANS: Any = Annotated[list[UUID], attachments(["application/pdf"], 1_000)]
ADD = """
INSERT INTO files (tenant_id, id, purpose, name, type, size, sha256, sizes, state, since, created_at, entity, row_id)
VALUES ($1, $2, $3, 'a', 'image/png', 1, '', '{}', $4, now(), now(), $5, $6)"""
ENTRIES = "SELECT purpose, entity FROM files WHERE tenant_id = $1 ORDER BY purpose, entity NULLS LAST"


def holding(photo: str = "photo_id", plans: str = "plan_ids", plural: str = "books") -> Registry:
    fields: Fields = [("title", str), ("back_cover_id", PHOTO, None), (photo, PHOTO, None), (plans, PLANS, [])]
    made = defstruct("Book", fields, rename="camel", kw_only=True)
    return build_registry([*BUILTIN_ENTITIES, entity(plural)(made)])


async def add_files(books: Books) -> None:
    """Add a row of books that holds a photo, a back cover and a plan, a temporary photo, and a file of others."""
    row = uuid4()
    for purpose in ("books.photo", "books.backCover", "books.plans"):
        await books.ask(ADD, books.tenant, uuid4(), purpose, "held", "books", row)
    await books.ask(ADD, books.tenant, uuid4(), "books.photo", "temporary", None, None)
    await books.ask(ADD, books.tenant, uuid4(), "bookshelves.photo", "held", "bookshelves", row)


@pytest.mark.parametrize(
    ("after", "spoken", "photo", "plans", "plural"),
    [
        (holding("front_side_id"), ["photo_id=front_side_id"], "frontSide", "plans", "books"),
        (holding(plans="sheet_ids"), ["books.plan_ids=sheetIds"], "photo", "sheets", "books"),
        (holding(plural="titles"), ["books=titles"], "photo", "plans", "titles"),
        (
            holding("cover_id", plural="titles"),
            ["books=titles", "titles.photo_id=cover_id"],
            "cover",
            "plans",
            "titles",
        ),
    ],
)
async def test_files_stay_those_of_a_renamed_field_and_entity(
    books: Books, after: Registry, spoken: list[str], photo: str, plans: str, plural: str
) -> None:
    await books.start(holding())
    await add_files(books)
    before = await books.ask(ENTRIES, books.tenant)
    await books.migrate(after, *spoken)
    held = [(f"{plural}.{name}", plural) for name in ("backCover", photo, plans)]
    moved = [*held, (f"{plural}.{photo}", None), ("bookshelves.photo", "bookshelves")]
    assert sorted(await books.ask(ENTRIES, books.tenant), key=str) == sorted(moved, key=str)
    await downgrade(books.url, after, books.folders)
    assert await books.ask(ENTRIES, books.tenant) == before


async def test_printed_sql_renames_the_files_in_the_transaction_of_the_column(books: Books) -> None:
    await books.start(holding())
    after = holding("cover_id")
    await books.write(after, "photo_id=cover_id")
    printed = await pending_sql(books.url, after, books.folders)
    column, files = printed.index("RENAME COLUMN photo_id TO cover_id"), printed.index("UPDATE files SET purpose")
    assert "COMMIT" not in printed[min(column, files) : max(column, files)]
