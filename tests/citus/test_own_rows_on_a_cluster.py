"""Own rows on a cluster."""

from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import parse_qsl
from uuid import UUID

import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.own_keys import with_own_keys
from adapters.postgres.entities.reading.select import count_shape, get_shape, page_shape, values_of
from adapters.postgres.entities.reading.select_rows import count_statement, get_statement, page_statement
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.operations.distribution import distribute
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, Change, NewRow
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity, many, mine, ref, through, unique
from domain.entities.query.query import View
from domain.entities.query.read_query import read_query
from domain.entities.registry import build_registry
from domain.errors import BadRequest, NotFound
from domain.scope import EveryTenant, OneTenant, OwnRows
from tests.builders import NOW, new_id
from tests.citus.conftest import Cluster
from tests.citus.test_nodes_of_a_request import tasks_of
from tests.citus.test_rows_on_a_cluster import ACT, seen, values


@entity("crews", has_many={"members": many("crew-members", by="crew_id"), "jobs": many("jobs", by="crew_id")})
class Crew(Struct, rename="camel", kw_only=True):
    name: str


@entity("crew-members", own=[mine("user_id")])
class CrewMember(Struct, rename="camel", kw_only=True):
    crew_id: Annotated[UUID, ref("crews", on_delete="cascade")]
    user_id: UUID


@entity(
    "jobs",
    own=[mine("created_by"), mine("assignee_id"), through("crew", "members", "user_id")],
    search=["title"],
    unique=[unique("title")],
    sort="title",
)
class Job(Struct, rename="camel", kw_only=True):
    title: str
    assignee_id: UUID | None = None
    crew_id: Annotated[UUID | None, ref("crews", on_delete="clear")] = None


REGISTRY = build_registry([*BUILTIN_ENTITIES, Crew, CrewMember, Job])
JOBS = REGISTRY["jobs"]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return REGISTRY


@pytest.fixture(scope="module")
async def database(
    servers_of_citus: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    made, folders = await servers_of_citus.create(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    await made.install()
    assert await write_migration(made.urls[0], REGISTRY, "jobs", folders) is not None
    assert await upgrade(made.urls[0], REGISTRY, folders) == []
    await distribute(made.urls[0], REGISTRY)
    opened = PostgresDatabase(made.urls[0], REGISTRY, CountingIds(), connections=4, pooler="citus")
    await opened.open()
    yield opened
    await opened.close()
    await made.drop()


def own_rows(user: UUID, tenant: UUID) -> OwnRows:
    touches = frozenset({"create:jobs", "update:jobs", "delete:jobs"})
    return OwnRows(tenant, user_id=user, sees=frozenset({"jobs", "crew-members"}), touches=touches)


async def add(database: PostgresDatabase, plural: str, scope: OneTenant, by: UUID | None, **given: object) -> UUID:
    row = NewRow(new_id(), values(REGISTRY[plural], **given))
    async with database.transaction(scope) as tx:
        await tx.records.add(REGISTRY[plural], [row], Act(by=by, at=NOW))
    return row.id


@pytest.mark.parametrize(
    "asked", ["", "search=red lamp", "crew.name=a", "sort=crew.name:desc", "crew.members.userId.ne=" + str(UUID(int=1))]
)
async def test_a_page_of_own_rows_asks_one_node(database: PostgresDatabase, asked: str) -> None:
    scope = own_rows(new_id(), new_id())
    query = read_query(JOBS, REGISTRY, frozenset(), parse_qsl(asked))
    made = [
        page_statement(REGISTRY, JOBS, page_shape(scope, query)),
        count_statement(REGISTRY, JOBS, count_shape(scope, query)),
    ]
    for statement in made:
        async with database.read_only(scope) as read:
            given = await with_own_keys(read.connection, REGISTRY, statement, values_of(scope, query))
        assert await tasks_of(database, statement, given) == [1]
    row = get_statement(REGISTRY, JOBS, get_shape(scope, View()))
    assert await tasks_of(database, row, {**values_of(scope, query), "id": new_id()}) == [1]


async def test_own_rows_alone_are_seen_and_written(database: PostgresDatabase) -> None:
    ann, bob, here = new_id(), new_id(), OneTenant(new_id())
    crew = await add(database, "crews", here, None, name="red")
    await add(database, "crew-members", here, None, crew_id=crew, user_id=ann)
    await add(database, "jobs", here, ann, title="of ann")
    await add(database, "jobs", here, bob, title="for ann", assignee_id=ann)
    await add(database, "jobs", here, bob, title="of the crew", crew_id=crew)
    other = await add(database, "jobs", here, bob, title="of bob")
    for user, titles in ((ann, 3), (bob, 3), (new_id(), 0)):
        assert (await seen(database, REGISTRY, own_rows(user, here.id), "jobs")).total == titles
    async with database.read_only(own_rows(ann, here.id)) as read:
        assert await read.records.get(JOBS, other, View()) is None
    with pytest.raises(NotFound):
        async with database.transaction(own_rows(ann, here.id)) as tx:
            await tx.records.change(JOBS, [Change(other, {"title": "of ann too"}, None)], ACT)


@pytest.mark.parametrize("key", [None, "title"])
async def test_an_import_of_a_caller_limited_to_own_rows_is_refused(
    database: PostgresDatabase, key: str | None
) -> None:
    async def rows() -> AsyncIterator[bytes]:
        yield b""

    loading = Loading(ACT, None if key is None else JOBS.by_name[key])
    with pytest.raises(BadRequest, match="Citus"):
        async with database.transaction(own_rows(new_id(), new_id())) as tx:
            await tx.transfers.load(JOBS, rows(), loading)


async def test_an_export_with_related_rows_for_all_tenants_is_refused(database: PostgresDatabase) -> None:
    query = read_query(REGISTRY["crews"], REGISTRY, frozenset(), [("include", "jobs")])

    async def export() -> None:
        async with database.read_transaction(EveryTenant()) as read:
            await anext(read.transfers.pieces(REGISTRY["crews"], query, "json"))

    with pytest.raises(BadRequest, match="Citus"):
        await export()
