"""Search indexes in migrations: the operation to create them, and their comparison with the declarations."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import sqlalchemy as sa
from alembic import op
from alembic.autogenerate import renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations.ops import MigrateOperation
from msgspec import Struct
from sqlalchemy import Connection

from adapters.postgres.migrations.online.operations import by_itself, is_online
from adapters.postgres.schema import search
from adapters.postgres.schema.search import IS_POSSIBLE, MAKE_SEARCH
from adapters.postgres.schema.sql import quoted
from domain.entities.declaration import EntityModel, Registry
from domain.entities.kinds import TEXTS

_MAKE, _IS_POSSIBLE = sa.text(MAKE_SEARCH), sa.text(IS_POSSIBLE)
_FUNCTION = sa.table("pg_proc", sa.column("proname", sa.Text()), sa.column("pronamespace"))
_CLASS = sa.table("pg_class", sa.column("oid"), sa.column("relname", sa.Text()), sa.column("relam"))
_INDEX = sa.table("pg_index", *(sa.column(name) for name in ("indexrelid", "indrelid", "indisvalid", "indnkeyatts")))
_GIN = sa.table("pg_am", sa.column("oid"), sa.column("amname", sa.Text()))


class SearchState(Struct, frozen=True):
    """A database's index and functions for the searches of a table."""

    functions: frozenset[str]
    indexes: tuple[tuple[str, bool, tuple[str, ...]], ...]

    def is_that_of(self, table: str, fields: Sequence[str], *, by_tenant: bool) -> bool:
        functions = {search.search_function_name(table, field) for field in fields} if by_tenant else set()
        name, keys = search.search_index_name(table), tuple(search.search_keys(fields, by_tenant=by_tenant))
        return self.functions == functions and self.indexes == (((name, True, keys),) if fields else ())


def index_search(table: str, fields: Sequence[str], *, by_tenant: bool = True) -> None:
    """Create an index for searches: ``index_search("books", ["title"])``; without fields, drop all search indexes.

    Does nothing without pg_trgm and btree_gin, or without the right to create them. An online file builds the index
    ``CONCURRENTLY``.
    """
    if not op.get_context().as_sql:
        op.execute(_MAKE)
        if not op.get_bind().execute(_IS_POSSIBLE).scalar():
            return
    elif fields:
        op.execute("-- The next statements need the extensions pg_trgm and btree_gin.")
        op.execute(_MAKE)
    _make_index(table, fields, by_tenant=by_tenant)
    state = _state(table)
    wanted = fields if by_tenant else ()
    for function in state.functions - {search.search_function_name(table, field) for field in wanted}:
        op.execute(search.without_function(table, function.partition(".")[2]))
    for statement in search.opened(table, wanted) if wanted else search.closed(table) if by_tenant else ():
        op.execute(statement)


def _make_index(table: str, fields: Sequence[str], *, by_tenant: bool) -> None:
    """Create the index before dropping those it replaces: searches always have one."""
    name, keys = search.search_index_name(table), tuple(search.search_keys(fields, by_tenant=by_tenant))
    before = _state(table).indexes
    kept = next((index for index, is_valid, found in before if fields and is_valid and found == keys), None)
    surplus = [index for index, _, _ in before if index != kept]
    if name in surplus:
        aside = search.search_index_name(f"{table}_before")
        _rename(name, aside)
        surplus[surplus.index(name)] = aside
    if kept is not None and kept != name:
        _rename(kept, name)
    elif fields and kept is None:
        index = search.search_index(table, fields, by_tenant=by_tenant, beside=is_online())
        with _alone():
            op.execute(sa.schema.CreateIndex(index))
    for index_name in surplus:
        with _alone():
            op.drop_index(index_name, table, postgresql_concurrently=is_online())


def _rename(index: str, name: str) -> None:
    statement = f"ALTER INDEX {quoted(index)} RENAME TO {quoted(name)}"
    op.execute(statement)


def _alone() -> AbstractContextManager[None]:
    """Leaves the transaction in an online file, as CONCURRENTLY requires."""
    return by_itself() if is_online() else nullcontext()


def _state(table: str) -> SearchState:
    if op.get_context().as_sql:  # printed for a database that has none yet
        return SearchState(frozenset(), ())
    return state_of(op.get_bind(), table)


def state_of(connection: Connection, table: str) -> SearchState:
    named = sa.select(_FUNCTION.c.proname).where(
        _FUNCTION.c.pronamespace == sa.func.to_regnamespace(search.SEARCH),
        sa.func.starts_with(_FUNCTION.c.proname, f"{table}."),
    )
    number = sa.func.generate_series(1, _INDEX.c.indnkeyatts).column_valued("number")
    keys = sa.func.array(sa.select(sa.func.pg_get_indexdef(_INDEX.c.indexrelid, number, True)).scalar_subquery())
    found = sa.select(_CLASS.c.relname, _INDEX.c.indisvalid, keys).where(
        _CLASS.c.oid == _INDEX.c.indexrelid,
        _GIN.c.oid == _CLASS.c.relam,
        _GIN.c.amname == "gin",
        _INDEX.c.indrelid == sa.func.to_regclass(quoted(table)),
        _CLASS.c.relname.regexp_match("^ix_.*_search$"),
    )
    indexes = connection.execute(found)
    functions = connection.execute(named).scalars()
    return SearchState(frozenset(functions), tuple((row[0], row[1], tuple(row[2])) for row in indexes))


class IndexSearch(MigrateOperation):
    """Autogenerate operation; in the migration file it is ``index_search(…)``.

    ``is_early`` marks the one before a change of a type, because PostgreSQL cannot change the type of a text that the
    index uses.
    """

    def __init__(
        self, table: str, fields: Sequence[str], before: Sequence[str], *, by_tenant: bool, is_early: bool = False
    ) -> None:
        self.table, self.fields, self.before, self.by_tenant = table, list(fields), list(before), by_tenant
        self.is_early = is_early

    def reverse(self) -> MigrateOperation:
        return IndexSearch(self.table, self.before, self.fields, by_tenant=self.by_tenant)

    def to_diff_tuple(self) -> tuple[str, str]:
        return ("index_search", self.table)


@renderers.dispatch_for(IndexSearch)
def _render(context: AutogenContext, operation: IndexSearch) -> str:
    context.imports.add("from tenantry.migrations import index_search")
    return f"index_search({operation.table!r}, {operation.fields!r}, by_tenant={operation.by_tenant})"


def search_indexes(connection: Connection, registry: Registry) -> Iterator[IndexSearch]:
    """Yield operations for entities with a missing or outdated search index.

    A new table always gets the operation, and the server that applies it decides. For an existing table, this server
    decides.
    """
    is_possible = connection.execute(_IS_POSSIBLE).scalar()
    tables = set(sa.inspect(connection).get_table_names())
    for model in registry.stored:
        fields = model.indexed_search
        if model.table not in tables:
            if fields:
                yield IndexSearch(model.table, fields, (), by_tenant=model.tenant_owned)
        elif is_possible:
            yield from _changed(connection, model)


def _changed(connection: Connection, model: EntityModel) -> Iterator[IndexSearch]:
    fields, state = model.indexed_search, state_of(connection, model.table)
    if not state.is_that_of(model.table, fields, by_tenant=model.tenant_owned):
        stored = {name: key for name in model.by_name for key in search.search_keys([name], by_tenant=False)}
        had: set[Any] = {key for _, _, keys in state.indexes for key in keys}
        before = [name for name, key in stored.items() if key in had]
        texts = [name for name in before if model.by_name[name].kind in TEXTS]
        if texts != before:
            yield IndexSearch(model.table, texts, before, by_tenant=model.tenant_owned, is_early=True)
        if texts == before or texts != list(fields):
            yield IndexSearch(model.table, fields, texts, by_tenant=model.tenant_owned)
