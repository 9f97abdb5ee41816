"""Memory and PostgreSQL are twins: whatever is stored and whatever is asked, they answer the same."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw, structs

from adapters.memory.entities.records import MemoryRecords
from adapters.postgres.connection.connections import scope_text
from adapters.postgres.entities.reading.narrowing import NO_SEARCHES, Searches, SearchLimits
from adapters.postgres.entities.reading.select import PostgresSelect
from application.ports.entities.records import RowPage
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.cursors import read_cursor, write_cursor
from domain.entities.query.query import Query
from domain.entities.query.read_query import read_query
from domain.entities.registry import build_registry
from domain.scope import EveryTenant, OneTenant, OwnRows, Rights, Scope
from tests.builders import NOW
from tests.examples import ASKED, examples
from tests.twins.database import TwinsDatabase
from tests.twins.drawing import TENANTS, Rows, Texts, parameters, rows, texts
from tests.twins.everything import DECLARED, LICENSED, OWNED
from tests.twins.stored import memory_records

CATALOGUE = build_registry((*ENTITIES, *BUILTIN_ENTITIES))
ALL_KINDS = build_registry(DECLARED)
SHARED = build_registry(LICENSED)
OWN = build_registry(OWNED)
QUESTIONS = 20 if ASKED else 6
"""Of each case: `make fuzz` asks 20,000 of each registry."""

twins = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

A = TypeVar("A")
Reads = MemoryRecords | PostgresSelect


@dataclass(frozen=True)
class Question:
    model: EntityModel = field(repr=False)
    query: Query
    row_id: Any


@dataclass(frozen=True)
class Case:
    """What is stored, whose rows are seen, and some questions about them."""

    registry: Registry = field(repr=False)
    stored: Rows
    scope: Scope
    questions: list[Question]
    searches: Searches = NO_SEARCHES

    @property
    def memory(self) -> MemoryRecords:
        return memory_records(self.registry, self.stored, self.scope)


@st.composite
def cases(draw: st.DrawFn, registry: Registry) -> Case:
    few = draw(texts)
    scope = draw(scopes(registry))
    stored = draw(rows(registry, few, are_of_all=scope == EveryTenant()))
    ids = [row["id"] for held in stored.values() for row in held if "id" in row]
    questions = [draw(_question(registry, few, ids)) for _ in range(QUESTIONS)]
    return Case(registry, stored, scope, questions, draw(st.sampled_from(_searches(registry))))


def scopes(registry: Registry) -> st.SearchStrategy[Scope]:
    """Of all rows, or where entities have ownership rules mostly of own rows; the caller's id is a value of fields."""
    whole: list[Scope] = [
        OneTenant(TENANTS[0]),
        OneTenant(TENANTS[0], sees_all=True),
        OneTenant(TENANTS[1]),
        EveryTenant(),
        EveryTenant(),
    ]
    owned = [model for model in registry if model.declaration.own]
    if not owned:
        return st.sampled_from(whole)
    # a caller who deletes rows, own or not, sees which are deleted
    sees = st.frozensets(st.sampled_from([model.plural for model in owned]))
    names = [model.permission(action) for model in owned for action in ("update", "delete")]
    limited: st.SearchStrategy[Scope] = st.builds(
        OwnRows,
        st.sampled_from((TENANTS[0], TENANTS[0], TENANTS[1])),
        user_id=st.just(UUID(int=1000)),
        sees=sees,
        touches=st.frozensets(st.sampled_from(names)),
    )
    return limited | limited | limited | st.sampled_from(whole)


def _searches(registry: Registry) -> list[Searches]:
    """Without an index, and with one that is asked for every word: it finds none, one row, or any number of rows."""
    indexed = frozenset((model.table, field) for model in registry.stored for field in model.declaration.search)
    limits = [SearchLimits(sampled=0, frequent=1, most=most) for most in (0, 1, 1_000, 1_000)]
    return [NO_SEARCHES, *(Searches(indexed, limit) for limit in limits)]


@st.composite
def _question(draw: st.DrawFn, registry: Registry, few: Texts, ids: Sequence[object]) -> Question:
    model = draw(st.sampled_from([*registry, *(model_ for model_ in registry if model_.relations)]))
    asked = draw(parameters(registry, model, few))
    rights = st.builds(Rights, st.sampled_from([("*",), ()]), st.booleans())
    hidden = registry.hidden_from(draw(rights))
    closed = [registry[plural].by_name[name].wire.lower() for plural, name in hidden]
    seen = [(name, text) for name, text in asked if not any(wire in (name + text).lower() for wire in closed)]
    return Question(model, read_query(model, registry, hidden, seen), draw(st.sampled_from([*ids, UUID(int=1)])))


registries = pytest.mark.parametrize(
    "registry", [CATALOGUE, ALL_KINDS, SHARED, OWN], ids=["catalogue", "every kind", "shared", "own rows"]
)


@pytest.mark.promise("entities, details: the memory adapter and PostgreSQL give the same responses")
@registries
@twins
@given(data=st.data())
def test_both_give_the_same_answers(registry: Registry, twins_database: TwinsDatabase, data: st.DataObject) -> None:
    case = data.draw(cases(registry))

    async def ask(records: Reads) -> list[object]:
        pages = [plain(await records.page(question.model, question.query)) for question in case.questions]
        rows = [await records.get(question.model, question.row_id, question.query.view) for question in case.questions]
        return [*pages, *(row and (row.id, row.version, parsed(row.body)) for row in rows)]

    mine, theirs = twins_database.run(asked_of_both(twins_database, case, ask))
    assert theirs == mine


@pytest.mark.promise("entities, details: a page past the end is empty; ties are broken by id; pages never overlap")
@registries
@twins
@given(data=st.data())
def test_pages_partition_the_whole(registry: Registry, twins_database: TwinsDatabase, data: st.DataObject) -> None:
    case = data.draw(cases(registry))

    async def ask(records: Reads) -> None:
        for question in case.questions[:2]:
            whole = await records.page(question.model, structs.replace(question.query, page=1, page_size=100))
            everything = parsed(whole.items)
            assert whole.total == whole.length == len(everything)
            assert [row async for row in by_page(records, question)] == everything
            assert [row async for row in by_cursor(records, registry, question)] == everything

    twins_database.run(asked_of_both(twins_database, case, ask))


@pytest.mark.promise("declarations, indexes and decimals: Amounts of any digits are compared with the copy exactly")
def test_decimals_are_written_alike(twins_database: TwinsDatabase) -> None:
    """Python knows exponents, and none of the two uses them."""
    thing = ALL_KINDS["things"]
    pairs = [("100000000", "0.00000010"), ("0", "0.00000000"), ("-20", "-1.50000000"), ("999999999999", "0.00000001")]
    blank: dict[str, Any] = dict.fromkeys(thing.by_name)
    blank |= {field.name: {} for field in thing.links}
    blank |= {"tenant_id": TENANTS[0], "created_at": NOW, "updated_at": NOW, "is_deleted": False, "version": 1}
    stored = [
        {**blank, "id": UUID(int=n), "title": f"{n}", "size": "m", "round": Decimal(whole), "fine": Decimal(fine)}
        for n, (whole, fine) in enumerate(pairs)
    ]
    query = read_query(thing, ALL_KINDS, frozenset(), [("sort", "title"), ("fields", "round,fine")])

    async def ask(records: Reads) -> list[tuple[str, ...]]:
        page = await records.page(thing, query)
        return [found.groups() for found in re.finditer(r'"round":([^,]*),"fine":([^,}]*)', bytes(page.items).decode())]

    case = Case(ALL_KINDS, {"units": [], "things": stored, "links": []}, OneTenant(TENANTS[0]), [])
    assert twins_database.run(asked_of_both(twins_database, case, ask)) == (pairs, pairs)


async def asked_of_both(database: TwinsDatabase, case: Case, ask: Callable[[Reads], Awaitable[A]]) -> tuple[A, A]:
    async with database.stored(case.registry, case.stored) as connection:
        # the functions of searches know the tenant by the setting that row-level security reads
        await connection.execute("SELECT set_config('tenantry.scope', $1, true)", scope_text(case.scope))
        select = PostgresSelect(connection, case.registry, case.scope, case.searches)
        return await ask(case.memory), await ask(select)


async def by_page(records: Reads, question: Question) -> AsyncIterator[object]:
    number, has_next = 0, True
    while has_next:
        number += 1
        page = await records.page(question.model, structs.replace(question.query, page=number))
        has_next = page.has_next
        for row in parsed(page.items):
            yield row


async def by_cursor(records: Reads, registry: Registry, question: Question) -> AsyncIterator[object]:
    query = structs.replace(question.query, page=1)
    while True:
        page = await records.page(question.model, query)
        for row in parsed(page.items):
            yield row
        if page.last is None:
            return
        text = write_cursor(query.sort, page.last)
        query = structs.replace(query, cursor=read_cursor(registry, question.model, query.sort, text))


def parsed(body: Raw) -> Any:
    return json.loads(bytes(body), parse_float=Decimal)


def plain(page: RowPage) -> object:
    last = page.last and tuple(getattr(value, "value", value) for value in page.last)
    return (parsed(page.items), page.length, page.total, page.has_next, page.total_is_estimate, last)
