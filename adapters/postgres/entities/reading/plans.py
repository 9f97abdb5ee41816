"""The server's plans for the usual queries of an entity, and conditions without an index."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
import sqlalchemy as sa

from adapters.postgres.connection.codecs import set_codecs
from adapters.postgres.connection.connecting import connect
from adapters.postgres.connection.connections import Connection
from adapters.postgres.connection.search_indexes import searches_found
from adapters.postgres.entities.reading.narrowing import Searches, narrowing
from adapters.postgres.entities.reading.own_keys import with_own_keys
from adapters.postgres.entities.reading.select import page_shape, statements_of, values_of
from adapters.postgres.schema.copies import equal_name, ordered_name
from adapters.postgres.schema.row_security import EVERY, ROLE
from adapters.postgres.statements.compiled import compiled, constant, explained
from adapters.postgres.statements.rows import table_of
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import Kind
from domain.entities.query.kinds import BOUNDS, QUERY_KINDS
from domain.entities.query.query import Operator
from domain.entities.query.read_query import read_query
from domain.scope import OneTenant, OwnRows

NOBODY = OneTenant(UUID(int=0))
"""A tenant without rows."""

OWN = "page 1 of own rows"
SCANS = "rows in their order until the page is full: no index finds them"
_NO_ID = str(UUID(int=0))
_SHOWN = ("include", "search", "sort")
_LEAST = next(bound for bound in BOUNDS if bound.operator is Operator.GTE)

_KEYS = """
SELECT ARRAY(SELECT pg_get_indexdef(indexrelid, n, true) FROM generate_series(1, indnkeyatts) n) AS keys
FROM pg_index WHERE indrelid = to_regclass(quote_ident($1))
"""


_SET_SCOPE = "SELECT set_config('tenantry.scope', $1, false)"


@dataclass(frozen=True)
class Planned:
    """A usual query of an entity, and PostgreSQL's plan for it.

    ``steps`` describes the plan in words. ``scans`` describes what PostgreSQL reads without an index; None if an index
    serves the query.
    """

    asked: str
    steps: tuple[str, ...]
    scans: str | None


async def plans_of(url: str, registry: Registry) -> Mapping[str, list[Planned]]:
    """Return plans of the usual queries by the entity's plural."""
    # Use the service's role, because row-level security affects plans.
    connection = await connect(url, server_settings={"role": ROLE, "jit": "off"})
    try:
        await set_codecs(connection)
        return {model.plural: [plan async for plan in _plans(connection, registry, model)] for model in registry}
    finally:
        await connection.close()


async def _plans(connection: Connection, registry: Registry, model: EntityModel) -> AsyncIterator[Planned]:
    scope, keys = await _tenant_with_rows(connection, registry, model), await connection.fetch(_KEYS, model.table)
    searches = Searches(await searches_found(connection, registry))
    await connection.execute(_SET_SCOPE, str(scope.id))
    for asked, needed in _usual(model):
        query = read_query(model, registry, frozenset(), (*asked.items(), ("count", "none")))
        narrowed = narrowing(model, query, searches)
        statement = explained(statements_of(registry, model).page(page_shape(scope, query, narrowed)))
        plan = await connection.fetchval(statement.text, *statement.arguments(values_of(scope, query)))
        steps = tuple(_steps(msgspec.json.decode(plan)[0]["Plan"]))
        wanted = [*_owner(model), *needed]
        indexed = not needed or narrowed is not None or any(_begins(row["keys"], wanted) for row in keys)
        yield Planned(_name(asked), steps, None if indexed else SCANS)
    if model.declaration.own:
        yield await _plan_of_own_rows(connection, registry, model, scope)


async def _plan_of_own_rows(
    connection: Connection, registry: Registry, model: EntityModel, tenant: OneTenant
) -> Planned:
    """Return the plan of a page for a caller limited to own rows, who owns few."""
    scope = OwnRows(tenant.id, user_id=UUID(int=0), sees=frozenset({model.plural}), touches=frozenset())
    query = read_query(model, registry, frozenset(), (("count", "none"),))
    statement = explained(statements_of(registry, model).page(page_shape(scope, query)))
    values = await with_own_keys(connection, registry, statement, values_of(scope, query))
    plan = await connection.fetchval(statement.text, *statement.arguments(values))
    return Planned(OWN, tuple(_steps(msgspec.json.decode(plan)[0]["Plan"])), None)


async def _tenant_with_rows(connection: Connection, registry: Registry, model: EntityModel) -> OneTenant:
    if not model.tenant_owned:
        return NOBODY
    await connection.execute(_SET_SCOPE, EVERY)
    tenant = sa.select(table_of(registry, model).c.tenant_id).limit(constant(1))
    found = await connection.fetchval(compiled(tenant).text)
    return NOBODY if found is None else OneTenant(found)


def _begins(keys: Sequence[str], wanted: Sequence[str]) -> bool:
    # Compare only column names: row-level security prevents the use of an index on an expression.
    return [key.strip('"') for key in keys[: len(wanted)]] == list(wanted)


def _owner(model: EntityModel) -> list[str]:
    return ["tenant_id"] if model.tenant_owned else []


def _usual(model: EntityModel) -> Iterator[tuple[dict[str, str], tuple[str, ...]]]:
    """Yield the usual query parameters, each with the index columns that they need."""
    yield {}, ()
    if model.relations:
        yield {"include": ",".join(model.relations)}, ()
    for field in model.fields:
        if field.reference is not None:
            yield {field.wire: _NO_ID}, (field.name,)
    for unique in model.unique:
        first = model.by_name[unique.fields[0]]
        if len(unique.fields) == 1:
            yield {f"{first.wire}.eq": _some_value(first)}, (equal_name(model, first),)
    # Shared rows have no row-level security, so the planner uses their index without help.
    if model.declaration.search and model.tenant_owned:
        yield {"search": "word"}, (model.declaration.search[0],)
    for index in model.declaration.indexes:
        fields = tuple(model.by_name[name] for name in index.fields)
        equal = {field.wire: _some_value(field) for field in fields[:-1]}
        last, has_bounds = fields[-1], _LEAST in QUERY_KINDS[fields[-1].kind].bounds
        bounded = {_LEAST.name(last.wire): _some_value(last)} if has_bounds else {}
        yield {**equal, **bounded, "sort": last.wire}, tuple(ordered_name(model, field) for field in fields)


def recommended_indexes(model: EntityModel) -> Iterator[str]:
    """Recommend indexes for bounded, sorted pages of a related row: a category's products by price."""
    declared = {index.fields[:2] for index in model.declaration.indexes}
    # clients show a row's attachments, and do not list rows by an attachment
    references = [field for field in model.declared if field.reference is not None and field.attachment is None]
    for reference in references:
        for amount in (field for field in model.declared if field.kind is Kind.DECIMAL):
            if (reference.name, amount.name) not in declared:
                asked = f"{reference.wire}=…&{_LEAST.name(amount.wire)}=…&sort={amount.wire}"
                yield f'if clients ask for {asked}, declare indexes=[index("{reference.name}", "{amount.name}")]'


def _some_value(field: FieldModel) -> str:
    return field.choices[0] if field.choices else QUERY_KINDS[field.kind].example


def _name(asked: Mapping[str, str]) -> str:
    return "&".join(f"{name}={value if name in _SHOWN else '…'}" for name, value in asked.items()) or "page 1"


def _steps(plan: Mapping[str, Any]) -> Iterator[str]:
    if "Relation Name" in plan or plan["Node Type"] == "Sort":
        by = plan.get("Index Name") or plan.get("Relation Name") or ", ".join(plan.get("Sort Key", ()))
        yield f"{plan['Node Type']} {by}"
    for further in plan.get("Plans", ()):
        yield from _steps(further)
