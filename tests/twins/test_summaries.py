"""Memory and PostgreSQL give the same summaries of the same rows, for generated rows and queries."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, isnan, nan
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.memory.entities.summaries import MemorySummaries
from adapters.memory.store import Store
from adapters.postgres.connection.connections import scope_text
from adapters.postgres.entities.reading.summaries import PostgresSummaries
from application.ports.entities.summaries import Group, Summaries
from domain.entities.declaration import EntityModel, Registry
from domain.entities.kinds import TIMES, Kind
from domain.entities.query.read_summary import GROUPED, MEASURED, read_summary
from domain.entities.query.responses import LARGEST_PAGE_BYTES
from domain.entities.query.summary import Function, Summary, Unit
from domain.entities.registry import build_registry
from domain.errors import Error, UnprocessableEntity
from domain.scope import OneTenant, Rights
from tests.builders import NOW
from tests.twins.database import TwinsDatabase
from tests.twins.drawing import TENANTS, Parameters, Row, Texts, parameters, rows, texts
from tests.twins.everything import DECLARED
from tests.twins.stored import memory_store
from tests.twins.test_twins import QUESTIONS, registries, scopes, twins

ZONES = ("UTC", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia", "America/New_York", "Pacific/Kiritimati")
NOT_TAKEN = ("sort", "include", "fields", "page", "pageSize")


@dataclass(frozen=True)
class Within:
    store: Store

    def read(self) -> Store:
        return self.store

    lock = read

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Store]:
        yield self.store


@st.composite
def summaries(draw: st.DrawFn, registry: Registry, texts: Texts) -> tuple[EntityModel, Summary]:
    model = draw(st.sampled_from(list(registry)))
    hidden = registry.hidden_from(draw(st.builds(Rights, st.sampled_from([("*",), ()]), st.booleans())))
    closed = [registry[plural].by_name[name].wire.lower() for plural, name in hidden]
    asked: Parameters = [given for given in draw(parameters(registry, model, texts)) if given[0] not in NOT_TAKEN]
    groups = dict(draw(st.lists(_group(registry, model), max_size=3)))
    measures = draw(st.lists(_measure(registry, model), min_size=1, max_size=4, unique_by=lambda each: each[0]))
    exact = [name for name, is_exact in measures if is_exact]
    directions = st.sampled_from(("", ":asc", ":desc"))
    keys = draw(st.lists(st.sampled_from([*groups, *exact]), max_size=3, unique=True)) if [*groups, *exact] else []
    asked.append(("measures", ",".join(name for name, _ in measures)))
    if groups:
        asked.append(("group", ",".join(name + unit for name, unit in groups.items())))
    if keys:
        asked.append(("sort", ",".join(key + draw(directions) for key in keys)))
    asked.append(("limit", str(draw(st.sampled_from((1, 2, 1000))))))
    seen = [(name, _without(text, closed) if name in ("group", "measures", "sort") else text) for name, text in asked]
    seen = [given for given in seen if given[1] and not any(wire in given[0].lower() for wire in closed)]
    return model, read_summary(model, registry, hidden, seen)


def _without(text: str, closed: Sequence[str]) -> str:
    return ",".join(part for part in text.split(",") if not any(wire in part.lower() for wire in closed))


@st.composite
def _group(draw: st.DrawFn, registry: Registry, model: EntityModel) -> tuple[str, str]:
    way, end = draw(_ways(registry, model))
    field = draw(st.sampled_from([field for field in end.fields if field.kind in GROUPED]))
    units = [*([""] if field.kind is Kind.DATE else []), *(f":{unit.value}" for unit in Unit)]
    return way + field.wire, draw(st.sampled_from(units)) if field.kind in TIMES else ""


@st.composite
def _measure(draw: st.DrawFn, registry: Registry, model: EntityModel) -> tuple[str, bool]:
    """A measure, and whether both twins give it to the last digit: sums of floats depend on the order of rows."""
    function = draw(st.sampled_from(Function))
    way, end = draw(_ways(registry, model))
    fields = [field for field in end.fields if field.kind in MEASURED.get(function, ())]
    if not fields:
        return "count", True
    field = draw(st.sampled_from(fields))
    return f"{function.value}:{way}{field.wire}", field.kind is not Kind.FLOAT


@st.composite
def _ways(draw: st.DrawFn, registry: Registry, model: EntityModel) -> tuple[str, EntityModel]:
    way = ""
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        single = [relation for relation in model.relations.values() if not relation.is_many]
        if not single:
            break
        relation = draw(st.sampled_from(single))
        way, model = f"{way}{relation.name}.", registry.target(relation)
    return way, model


@pytest.mark.promise("GET /api/{entities}/summary: the memory adapter and PostgreSQL give the same summaries")
@registries
@twins
@given(data=st.data())
def test_both_give_the_same_summaries(registry: Registry, twins_database: TwinsDatabase, data: st.DataObject) -> None:
    few = data.draw(texts)
    stored, scope, zone = data.draw(rows(registry, few)), data.draw(scopes(registry)), data.draw(st.sampled_from(ZONES))
    asked = [data.draw(summaries(registry, few)) for _ in range(QUESTIONS)]

    async def ask_both() -> list[tuple[object, object]]:
        memory = MemorySummaries(Within(memory_store(registry, stored)), registry, scope)
        async with twins_database.stored(registry, stored) as connection:
            await connection.execute("SELECT set_config('tenantry.scope', $1, true)", scope_text(scope))
            postgres = PostgresSummaries(connection, registry, scope)
            return [
                (await memory.groups(model, summary, zone), await postgres.groups(model, summary, zone))
                for model, summary in asked
            ]

    for (mine, theirs), (_, summary) in zip(twins_database.run(ask_both()), asked, strict=True):
        assert _comparable(theirs) == _comparable(mine), summary


def _comparable(groups: Any) -> list[tuple[object, ...]]:
    found: list[Group] = groups
    return [(*group.key, *map(_approximate, group.values)) for group in found]


def _approximate(value: object) -> object:
    return float(f"{value:.9g}") if isinstance(value, float) else value


THINGS = build_registry(DECLARED)
THING = THINGS["things"]
HERE = OneTenant(TENANTS[0])


Twins = tuple[Summaries, Summaries]


@asynccontextmanager
async def both(database: TwinsDatabase, things: Sequence[Row]) -> AsyncIterator[Twins]:
    blank: Row = {
        **dict.fromkeys(THING.by_name),
        **{field.name: {} for field in THING.links},
        "tenant_id": HERE.id,
        "is_deleted": False,
        "version": 1,
        "size": "m",
    }
    blank |= {"created_at": NOW, "updated_at": NOW}
    stored = [{**blank, "id": UUID(int=n), "title": f"{n}", **values} for n, values in enumerate(things)]
    tables: Any = {"things": {row["id"]: row for row in stored}}
    async with database.stored(THINGS, {"things": stored, "units": [], "links": []}) as connection:
        yield MemorySummaries(Within(Store(tables=tables)), THINGS, HERE), PostgresSummaries(connection, THINGS, HERE)


async def of_both(database: TwinsDatabase, things: Sequence[Row], zone: str = "UTC", **asked: str) -> list[list[Group]]:
    """Groups of these things in memory and in PostgreSQL."""
    summary = read_summary(THING, THINGS, frozenset(), asked.items())
    async with both(database, things) as twins_of_things:
        return [await twin.groups(THING, summary, zone) for twin in twins_of_things]


async def refusals_of_both(database: TwinsDatabase, things: Sequence[Row], **asked: str) -> list[Error]:
    summary = read_summary(THING, THINGS, frozenset(), asked.items())
    caught: list[Error] = []
    async with both(database, things) as twins_of_things:
        for twin in twins_of_things:
            with pytest.raises(Error) as error:
                await twin.groups(THING, summary, "UTC")
            caught.append(error.value)
    return caught


def test_sums_of_large_integers_are_exact(twins_database: TwinsDatabase) -> None:
    largest = 2**63 - 1
    rows: list[Row] = [{"total": largest}, {"total": largest}, {"total": largest - 1}, {"total": None}]
    for (group,) in twins_database.run(of_both(twins_database, rows, measures="sum:total,avg:total,max:total,count")):
        exact = 3 * largest - 1
        assert group.values == (exact, Decimal(largest) - Decimal("0.3333"), largest, 4)


def test_averages_are_rounded_from_the_exact_quotient(twins_database: TwinsDatabase) -> None:
    """PostgreSQL's own average has 16 significant digits, fewer than these amounts."""
    rows: list[Row] = [
        {"fine": Decimal("999999999999.00000001")},
        {"fine": Decimal(999999999999)},
        {"fine": Decimal(0)},
    ]
    for (group,) in twins_database.run(of_both(twins_database, rows, measures="sum:fine,avg:fine")):
        assert group.values == (Decimal("1999999999998.00000001"), Decimal("666666666666.000000003333"))
    half: list[Row] = [{"amount": -(not number)} for number in range(20_000)]
    for (group,) in twins_database.run(of_both(twins_database, half, measures="avg:amount")):
        assert group.values == (Decimal("-0.0001"),)


def test_not_a_number_is_the_largest_float_and_infinities_stay(twins_database: TwinsDatabase) -> None:
    rows: list[Row] = [{"ratio": nan, "n": 1}, {"ratio": 1.0, "n": 1}, {"ratio": None, "n": 2}, {"ratio": inf, "n": 2}]
    for groups in twins_database.run(
        of_both(twins_database, rows, group="size", measures="sum:ratio,min:ratio,max:ratio,distinct:ratio")
    ):
        total, least, largest, distinct = groups[0].values
        assert isinstance(total, float)
        assert isinstance(largest, float)
        assert (isnan(total), least, isnan(largest), distinct) == (True, 1.0, True, 3)


@pytest.mark.promise("GET /api/{entities}/summary: 422 for a sum out of range and for a slow summary")
def test_a_sum_of_floats_out_of_range_is_refused(twins_database: TwinsDatabase) -> None:
    rows: list[Row] = [{"ratio": 1.7e308}, {"ratio": 1.7e308}]
    for measure in ("sum:ratio", "avg:ratio"):
        for error in twins_database.run(refusals_of_both(twins_database, rows, measures=measure)):
            assert isinstance(error, UnprocessableEntity)
            assert "narrow the filters" in error.message


@pytest.mark.promise("GET /api/{entities}/summary: days and longer periods are those of the tenant's time zone")
def test_a_day_without_midnight_is_one_group(twins_database: TwinsDatabase) -> None:
    """In São Paulo, 2018-11-04 began at 1:00; on 2018-02-17 the hour before midnight came twice."""
    moments = ["2018-11-04T02:59:59+00:00", "2018-11-04T03:00:00+00:00", "2018-11-05T01:59:59+00:00"]
    moments += ["2018-02-18T01:30:00+00:00", "2018-02-18T02:30:00+00:00", "2018-02-18T03:00:00+00:00"]
    rows: list[Row] = [{"seen_at": datetime.fromisoformat(moment)} for moment in moments]
    for groups in twins_database.run(of_both(twins_database, rows, "America/Sao_Paulo", group="seenAt:day")):
        assert [(str(group.key[0]), group.values[0]) for group in groups] == [
            ("2018-02-17", 2),
            ("2018-02-18", 1),
            ("2018-11-03", 1),
            ("2018-11-04", 2),
        ]


@pytest.mark.parametrize(
    ("unit", "first"),
    [("week", "2026-11-23"), ("month", "2026-11-01"), ("quarter", "2026-10-01"), ("year", "2026-01-01")],
)
def test_a_period_is_shown_by_its_first_day(twins_database: TwinsDatabase, unit: str, first: str) -> None:
    """A Sunday: the week began six days before."""
    rows: list[Row] = [{"day": date(2026, 11, 29)}, {"day": None}]
    for groups in twins_database.run(of_both(twins_database, rows, group=f"day:{unit}")):
        assert [group.key for group in groups] == [(date.fromisoformat(first),), (None,)]


def test_moments_beyond_the_calendar_count_as_its_ends(twins_database: TwinsDatabase) -> None:
    rows: list[Row] = [
        {"seen_at": datetime(1, 1, 1, tzinfo=UTC)},
        {"seen_at": datetime(9999, 12, 31, 23, 59, tzinfo=UTC)},
    ]
    for zone, days in (
        ("America/New_York", [date.min, date.max]),
        ("Pacific/Kiritimati", [date.min, date.max]),
    ):
        for groups in twins_database.run(of_both(twins_database, rows, zone, group="seenAt:day")):
            assert [group.key[0] for group in groups] == days


def test_at_most_one_group_more_than_the_limit_is_returned(twins_database: TwinsDatabase) -> None:
    rows: list[Row] = [{"note": f"{number:04}"} for number in range(1_005)]
    for groups in twins_database.run(of_both(twins_database, rows, group="note", limit="1000", sort="note:desc")):
        assert len(groups) == 1_001
        assert groups[0].key == ("1004",)


def test_keys_of_more_than_the_largest_page_are_refused(twins_database: TwinsDatabase) -> None:
    rows: list[Row] = [{"note": letter * (LARGEST_PAGE_BYTES // 2 + 1)} for letter in "ab"]
    for error in twins_database.run(refusals_of_both(twins_database, rows, group="note")):
        assert "group by shorter texts" in error.fields[0].message
