"""Writes of callers with limits to own rows: memory and PostgreSQL store and refuse the same."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.memory.entities.records import MemoryRecords
from adapters.postgres.connection.connections import ServiceConnection, scope_text
from adapters.postgres.entities.records import PostgresRecords
from application.ports.entities.records import Act, Change, NewRow, Records
from domain.entities.declaration import EntityModel
from domain.entities.query.read_query import read_query
from domain.entities.registry import build_registry
from domain.errors import Error
from domain.scope import OneTenant, OwnRows
from tests.builders import NOW
from tests.examples import examples
from tests.twins.database import TwinsDatabase
from tests.twins.drawing import TENANTS, Row, rows
from tests.twins.everything import OWNED
from tests.twins.stored import memory_records

OWN = build_registry(OWNED)
USER = UUID(int=1000)
ACT = Act(by=USER, at=NOW)
ABSENT = UUID(int=1)
WRITES = 4

twins = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
Step = Callable[[Records], Awaitable[object]]


@dataclass(frozen=True)
class Write:
    """A step, and its name for Hypothesis."""

    name: str
    step: Step


def ids(draw: st.DrawFn, stored: list[Row]) -> list[Any]:
    """Mostly ids of stored rows, and mostly one of them."""
    some = st.sampled_from([*(row["id"] for row in stored), ABSENT])
    return draw(st.lists(some, min_size=1, max_size=draw(st.sampled_from((1, 1, 2, 3))), unique=True))


@st.composite
def values(draw: st.DrawFn, model: EntityModel, stored: dict[str, list[Row]], *, is_whole: bool) -> dict[str, object]:
    users = st.sampled_from((None, USER, UUID(int=0)))
    found: dict[str, object] = {}
    for field in model.declared:
        if field.link is not None:
            there = [row["id"] for row in stored[OWN[field.link.target].table]]
            found[field.name] = draw(st.lists(st.sampled_from([*there * 5, ABSENT]), max_size=2, unique=True))
        elif field.reference is not None:
            there = [row["id"] for row in stored[OWN[field.reference.target].table]]
            found[field.name] = draw(
                st.sampled_from([*there * 5, ABSENT]) | (st.none() if field.nullable else st.nothing())
            )
        else:
            found[field.name] = draw(
                users if field.nullable else st.sampled_from((1, 2) if field.name == "level" else "ab")
            )
    names = sorted(found) if is_whole else draw(st.lists(st.sampled_from(sorted(found)), unique=True))
    return {name: found[name] for name in names}


@st.composite
def writes(draw: st.DrawFn, stored: dict[str, list[Row]], number: int) -> Write:
    model = OWN[draw(st.sampled_from(("tasks", "tasks", "team-members", "labels")))]
    kind = draw(
        st.sampled_from(("add", "change", "change", "change", "remove", "restore", "restore", "purge", "current"))
    )
    every = stored[model.table]
    chosen = ids(draw, [row for row in every if kind != "restore" or row["is_deleted"]] or every)
    version = draw(st.sampled_from((None, None, None, 0)))
    if kind == "add":
        new = [NewRow(UUID(int=2_000 * number + row.int), draw(values(model, stored, is_whole=True))) for row in chosen]
        return Write(f"add {new}", lambda records: records.add(model, new, ACT))
    if kind == "change":
        changes = [Change(row, draw(values(model, stored, is_whole=False)), version) for row in chosen]
        return Write(f"change {changes}", lambda records: records.change(model, changes, ACT))
    steps: dict[str, Step] = {
        "remove": lambda records: records.remove(model, chosen, ACT, version),
        "purge": lambda records: records.purge(model, chosen, ACT, version),
        "restore": lambda records: records.restore(model, chosen[0], ACT, version),
        "current": lambda records: records.current(model, chosen),
    }
    return Write(f"{kind} {model.plural} {chosen} {version}", steps[kind])


LIMITED = ("tasks", "team-members", "labels")
LIMITS = [f"{action}:{plural}" for action in ("create", "update", "delete") for plural in LIMITED]
scopes = st.builds(
    OwnRows,
    st.just(TENANTS[0]),
    user_id=st.just(USER),
    sees=st.frozensets(st.sampled_from(LIMITED)),
    touches=st.frozensets(st.sampled_from(LIMITS)),
)


@pytest.mark.promise("entities, own rows: Memory and PostgreSQL store and refuse the same writes of limited callers")
@twins
@given(data=st.data())
def test_both_store_and_refuse_the_same(twins_database: TwinsDatabase, data: st.DataObject) -> None:
    stored = {table: living(every) for table, every in data.draw(rows(OWN, ("a", "b"))).items()}
    scope = data.draw(scopes)
    steps = [data.draw(writes(stored, number)) for number in range(1, WRITES + 1)]
    mine = twins_database.run(outcomes(memory_records(OWN, stored, scope), scope, steps, None))

    async def theirs() -> list[object]:
        async with twins_database.stored(OWN, stored) as connection:
            await connection.execute("SELECT set_config('tenantry.scope', $1, true)", scope_text(scope))
            return await outcomes(PostgresRecords(connection, OWN, scope), scope, steps, connection)

    assert twins_database.run(theirs()) == mine


def living(every: list[Row]) -> list[Row]:
    """Rows of one tenant as writes make them: only a deleted row has a time of its deletion."""
    blank = {"version": 1, "deleted_at": None, "deleted_by": None}
    unique = {
        (row.get("id"), *(row.get(name) for name in ("user_id", "entity", "row_id") if "entity" in row)): row
        for row in every
    }
    return [row | {"tenant_id": TENANTS[0]} | (blank if "version" in row else {}) for row in unique.values()]


async def outcomes(
    records: MemoryRecords | PostgresRecords, scope: OwnRows, steps: list[Write], connection: ServiceConnection | None
) -> list[object]:
    found = [await outcome(records, write, connection) for write in steps]
    whole = OneTenant(scope.id)
    every = (
        MemoryRecords(records.tables, OWN, whole, records.members)
        if isinstance(records, MemoryRecords)
        else PostgresRecords(records.connection, OWN, whole)
    )
    for model in OWN.stored:
        asked = [("pageSize", "100"), ("sort", "id"), ("includeDeleted", "true")]
        page = await every.page(model, read_query(model, OWN, frozenset(), asked))
        found.append(json.loads(bytes(page.items), parse_float=Decimal))
    return found


async def outcome(
    records: MemoryRecords | PostgresRecords, write: Write, connection: ServiceConnection | None
) -> object:
    if connection is not None:
        await connection.execute("SAVEPOINT step")
    try:
        return written(await write.step(records))
    except Error as error:
        if connection is not None:
            await connection.execute("ROLLBACK TO SAVEPOINT step")
        more = sorted(map(str, getattr(error, "found", ()))), sorted(map(str, getattr(error, "refused", ())))
        return type(error).__name__, sorted((field.field, field.message) for field in error.fields), more


def written(result: Any) -> object:
    if isinstance(result, dict):
        return {row_id: (row.version, dict(row.values)) for row_id, row in result.items()}
    if isinstance(result, list):
        return [written(row) for row in result]
    if isinstance(result, UUID):
        return result
    return result.id, result.version, json.loads(bytes(result.body), parse_float=Decimal)
