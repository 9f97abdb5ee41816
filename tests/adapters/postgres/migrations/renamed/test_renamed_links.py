"""Renames of fields with links, and of the entities at their ends: the junction tables move with them."""

import re
from typing import Annotated, Any
from uuid import UUID, uuid4

import pytest
from msgspec import defstruct

from adapters.postgres.migrations.migrate import discard, downgrade, write_migration
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity, links
from domain.entities.registry import build_registry
from tests.adapters.postgres.migrations.changed_books import Books, Fields
from tests.adapters.postgres.migrations.test_renamed_histories import TOLD, tell

LONG = "a_rather_long_name_of_a_field_that_makes_the_table_long_ids"
COUNTED = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename ~ '__'"
OBJECTS = """
SELECT relname::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = $1::text::regclass
UNION ALL SELECT conname::text FROM pg_constraint WHERE conrelid = $1::text::regclass AND contype = 'f' ORDER BY 1"""


def linked(*fields: str, source: str = "books", target: str = "tags") -> Registry:
    """Entities with a text; those of ``source`` have links to those of ``target``."""
    lists: Fields = [(name, Annotated[list[UUID], links(target, relation=f"of_{name}")], []) for name in fields]
    made = [
        entity(target)(defstruct("Tag", [("label", str)], rename="camel", kw_only=True)),
        entity(source, history=True)(defstruct("Book", [("title", str), *lists], rename="camel", kw_only=True)),
    ]
    return build_registry([*BUILTIN_ENTITIES, *made])


async def add_link(books: Books, junction: str) -> tuple[object, ...]:
    """Add a book, a tag and a link between them to the tables of the first declaration."""
    ends = uuid4(), uuid4()
    await books.add({"id": ends[0], "title": "a"})
    await books.add({"id": ends[1], "label": "red"}, table="tags")
    await books.ask(f"INSERT INTO {junction} VALUES ($1, $2, $3, 0)", books.tenant, *ends)
    return (books.tenant, *ends, 0)


def offered(notes: tuple[str, ...]) -> list[str]:
    return re.findall(r"--rename (\S+)", "\n".join(notes))


@pytest.mark.parametrize(
    ("after", "spoken", "junction"),
    [
        (linked("label_ids"), ["tag_ids=label_ids"], "books__label_ids"),
        (linked("label_ids"), ["books.tag_ids=labelIds"], "books__label_ids"),
        (linked("tag_ids", source="titles"), ["books=titles"], "titles__tag_ids"),
        (linked("tag_ids", target="labels"), ["tags=labels"], "books__tag_ids"),
        (
            linked("label_ids", source="titles", target="labels"),
            ["books=titles", "tags=labels", "titles.tag_ids=label_ids"],
            "titles__label_ids",
        ),
    ],
)
async def test_links_survive_renames_of_their_field_source_and_target(
    books: Books, after: Registry, spoken: list[str], junction: str
) -> None:
    await books.start(linked("tag_ids"))
    link = await add_link(books, "books__tag_ids")
    before = await books.ask(OBJECTS, "books__tag_ids")
    written = await books.migrate(after, *spoken)
    assert written.notes == ()
    assert await books.ask(f"SELECT * FROM {junction}") == [link]
    assert await books.ask(COUNTED) == [(1,)]
    renamed = [(name.replace("books__tag_ids", junction),) for (name,) in before]
    assert len(renamed) == 4
    assert await books.ask(OBJECTS, junction) == renamed
    assert await books.ask("SELECT count(*) FROM pg_policies WHERE tablename = $1", junction) == [(1,)]
    assert await write_migration(books.url, after, "again", books.folders) is None
    await downgrade(books.url, after, books.folders)
    assert await books.ask("SELECT * FROM books__tag_ids") == [link]
    assert await books.ask(OBJECTS, "books__tag_ids") == before


async def test_a_renamed_field_with_links_is_renamed_in_the_history(books: Books) -> None:
    await books.start(linked("tag_ids"))
    await tell(books, "tagIds", "title")
    await books.migrate(linked("label_ids"), "tag_ids=label_ids")
    assert await books.ask(TOLD) == [("books", "labelIds"), ("books", "title")]


async def test_a_source_is_renamed_with_junction_tables_of_shortened_names(books: Books) -> None:
    await books.start(linked(LONG))
    ((before,),) = await books.ask("SELECT tablename::text FROM pg_tables WHERE tablename LIKE 'books\\_\\_%'")
    link = await add_link(books, before)
    after = linked(LONG, source="titles")
    await books.migrate(after, "books=titles")
    ((junction,),) = await books.ask("SELECT tablename::text FROM pg_tables WHERE tablename LIKE 'titles\\_\\_%'")
    assert await books.ask(f"SELECT * FROM {junction}") == [link]
    assert await write_migration(books.url, after, "again", books.folders) is None


@pytest.mark.parametrize(
    ("after", "offers"),
    [
        (linked("label_ids"), ["books.tag_ids=label_ids"]),
        # several of the same target: by names that are alike, else each
        (linked("tags_ids", "xyz"), ["books.tag_ids=tags_ids"]),
        (linked("xyz", "zyx"), ["books.tag_ids=xyz", "books.tag_ids=zyx"]),
        (linked("tag_ids", "label_ids"), []),
        (linked(), []),
        # the junction table of a renamed source is not offered for itself
        (linked("tag_ids", source="titles"), ["books=titles"]),
        (linked("tag_ids", target="labels"), ["tags=labels"]),
        (linked("label_ids", target="labels"), ["tags=labels", "books.tag_ids=label_ids"]),
        (linked("label_ids", target="countries"), ["tags=countries", "books.tag_ids=label_ids"]),
    ],
)
async def test_renames_of_links_are_offered_between_fields_of_the_same_target(
    books: Books, after: Registry, offers: list[str]
) -> None:
    await books.start(linked("tag_ids"))
    await add_link(books, "books__tag_ids")
    written = await write_migration(books.url, after, "change", books.folders)
    assert sorted(offered(written.notes if written else ())) == sorted(offers)
    if "books.tag_ids=label_ids" in offers and written is not None:
        assert [note for note in written.notes if "books.label_ids come: 1 of them stays behind otherwise" in note]


async def test_links_and_columns_are_not_offered_for_each_other(books: Books) -> None:
    def made(*fields: Any) -> Registry:
        book = entity("books")(defstruct("Book", [("title", str), *fields], rename="camel", kw_only=True))
        others = [
            entity(name)(defstruct(name.title(), [("label", str)], kw_only=True)) for name in ("tags", "countries")
        ]
        return build_registry([*BUILTIN_ENTITIES, book, *others])

    to_tags, to_countries = Annotated[list[UUID], links("tags")], Annotated[list[UUID], links("countries")]
    tags: Any = ("tag_ids", to_tags, [])
    column: Any = ("numbers", list[UUID], [])
    await books.start(made(tags, column))
    changes = [
        made(tags, ("more_tag_ids", Annotated[list[UUID], links("tags", relation="more")], [])),
        made(column, ("tag_numbers", list[UUID], [])),
        made(column, ("country_ids", to_countries, [])),
    ]
    for after in changes:
        written = await books.write(after)
        assert offered(written.notes) == []
        await discard(books.url, books.folders)
