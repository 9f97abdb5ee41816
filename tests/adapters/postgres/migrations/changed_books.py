"""Declarations of one entity that tests change, and a database with rows of the first of them."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import asyncpg
from msgspec import Struct, defstruct
from sqlalchemy import ExecutableDDLElement
from sqlalchemy.schema import AddConstraint, CreateIndex, CreateTable

from adapters.postgres.migrations.migrate import WrittenMigration, upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.schema.links import tables_of
from adapters.postgres.schema.row_security import grants, policies
from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.schema.search import opened, search_index
from adapters.postgres.schema.sql import DIALECT
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity, ref, unique
from domain.entities.registry import build_registry

Fields = list[Any]
TABLES = "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"


def declared(fields: Fields, plural: str = "books", **arguments: Any) -> Registry:
    """Registry of the catalogue and a struct ``Book``: ``declared([("title", str)], search=["title"])``."""
    made: type[Struct] = defstruct("Book", fields, rename="camel", kw_only=True)
    return build_registry([*ENTITIES, *BUILTIN_ENTITIES, entity(plural, **arguments)(made)])


def many_sets(*, linked: bool) -> Registry:
    """Registry of three entities; ``linked`` gives each several references and uniques, some of them in a ring.

    With three more that are linked in the same way, and have no tables before.
    """
    groups = [("authors", "books", "loans"), *([("poets", "poems", "plays")] if linked else [])]
    made = [made for plurals in groups for made in _linked(plurals, linked=linked)]
    return build_registry([*ENTITIES, *BUILTIN_ENTITIES, *made])


def _linked(plurals: tuple[str, str, str], *, linked: bool) -> Iterator[type[Struct]]:
    targets = (*plurals[:2], "categories") if linked else ()
    optional: dict[str, Any] = {target: Annotated[UUID | None, ref(target)] for target in targets}
    links = [(f"{word}_{target}_id", optional[target], None) for target in targets for word in ("first", "last")]
    uniques = [unique("name"), unique("code"), unique("name", "code")] if linked else []
    for plural in plurals:
        fields: Fields = [("name", str), ("code", str), *links]
        yield entity(plural, unique=uniques)(defstruct(plural.title(), fields, rename="camel", kw_only=True))


def making(registry: Registry, names: Collection[str]) -> Iterator[str]:
    """Statements that make these tables as they are declared, without a migration; search indexes aside."""
    tables = [table for table in metadata_for(registry).sorted_tables if table.name in names]
    late = [key for table in tables for key in table.foreign_key_constraints if key.use_alter]
    for table in tables:
        yield spelled(CreateTable(table))
        yield from (spelled(CreateIndex(index)) for index in table.indexes)
    yield from (spelled(AddConstraint(key)) for key in late)


def spelled(statement: ExecutableDDLElement) -> str:
    return str(statement.compile(dialect=DIALECT)).replace("%%", "%")


@dataclass
class Books:
    """A database in which the first declaration of books is applied."""

    url: str
    folder: Path
    tenant: UUID = field(default_factory=uuid4)

    @property
    def folders(self) -> list[Path]:
        return [VERSIONS, self.folder]

    async def start(self, registry: Registry) -> None:
        """Makes the tables of a first declaration: a test of what comes after it need not write a file for it."""
        there = {name for (name,) in await self.ask(TABLES)}
        models = [model for model in registry.stored if model.table not in there]
        statements = [*making(registry, {table for model in models for table in tables_of(model)})]
        for model in models:
            for table in tables_of(model):
                statements += map(spelled, grants(table))
                statements += map(spelled, policies(table) if model.tenant_owned else ())
            if fields := model.indexed_search:
                index = search_index(model.table, fields, by_tenant=model.tenant_owned, beside=False)
                statements.append(spelled(CreateIndex(index)))
                statements += map(spelled, opened(model.table, fields) if model.tenant_owned else ())
        await self.run(*statements)

    async def write(self, registry: Registry, *renamed: str) -> WrittenMigration:
        written = await write_migration(self.url, registry, "change", self.folders, renamed)
        assert written is not None
        return written

    async def apply(self, registry: Registry) -> None:
        assert await upgrade(self.url, registry, self.folders) == []

    async def migrate(self, registry: Registry, *renamed: str) -> WrittenMigration:
        written = await self.write(registry, *renamed)
        await self.apply(registry)
        return written

    async def add(self, *rows: Mapping[str, object], table: str = "books") -> None:
        async with self.connected() as connection:
            for row in rows:
                values = {"tenant_id": self.tenant, "id": uuid4(), "version": 1, **row}
                names = ", ".join(f'"{name}"' for name in values)
                places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
                statement = f"INSERT INTO {table} ({names}, created_at, updated_at) VALUES ({places}, now(), now())"
                await connection.execute(statement, *values.values())

    async def run(self, *statements: str) -> None:
        async with self.connected() as connection:
            await connection.execute(";\n".join(statements))

    async def ask(self, statement: str, *values: object) -> list[Any]:
        async with self.connected() as connection:
            return [tuple(row) for row in await connection.fetch(statement, *values)]

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        """The owner, to whom the rows of all tenants are shown."""
        connection = await asyncpg.connect(self.url, server_settings={"tenantry.scope": "every"})
        try:
            yield connection
        finally:
            await connection.close()


def fill_in(path: Path, text: str) -> None:
    """Puts ``text`` where the file calls ``fill_in``, as a person does."""
    before, _, rest = path.read_text().partition("def upgrade")
    start = rest.index("fill_in(")
    depth, end, quote = 0, start, ""
    for end, letter in enumerate(rest[start:], start):
        if quote:
            quote = "" if letter == quote and rest[end - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            if letter == ")" and depth == 0:
                break
    path.write_text(f"{before}def upgrade{rest[:start]}{text}{rest[end + 1 :]}")
