"""References to members: written, read, and released by each way in which a membership ends."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.inspection import examined
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.records import Change, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.files.csv_rows import written
from domain.entities.query.query import WHOLE
from domain.errors import Error, Referrer, StillReferredTo
from domain.scope import EveryTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.members.office import ACT, DELETED, DESK, FIELDS, Office, furnished, refusal
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until


@pytest.fixture(scope="module")
async def desk_database(
    empty_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    """A database made by the migration that is generated from the entities."""
    folder: Path = tmp_path_factory.mktemp("desk")
    url = await empty_database()
    assert await write_migration(url, DESK, "desk", (VERSIONS, folder)) is not None
    assert await upgrade(url, DESK, (VERSIONS, folder)) == []
    found = await examined(url, DESK, (VERSIONS, folder))
    assert (found.differences, found.gaps) == ([], [])
    database = PostgresDatabase(url, DESK, CountingIds(), connections=6)
    await database.open()
    yield database
    await database.close()


@pytest.fixture(params=["memory", "desk_database"])
def office_database(request: pytest.FixtureRequest) -> WholeDatabase:
    if request.param == "memory":
        return MemoryDatabase(DESK, CountingIds())
    database: WholeDatabase = request.getfixturevalue(request.param)
    return database


@pytest.fixture
async def office(office_database: WholeDatabase) -> Office:
    return await furnished(office_database)


@pytest.mark.parametrize("plural", FIELDS)
async def test_only_members_of_the_tenant_can_be_named(office: Office, plural: str) -> None:
    wire = DESK[plural].by_name[FIELDS[plural]].wire
    row = await office.add(plural, office.people["Ada"])
    for name in ("Cem", "Dan"):
        stranger = office.people[name]
        wrong = [(wire, "refers to nothing that exists")]
        assert await refusal(office.add(plural, stranger)) == wrong
        assert await refusal(office.change(plural, Change(row, {FIELDS[plural]: stranger}))) == wrong
        both = office.add_all(plural, [office.people["Ben"], stranger])
        assert [field for field, _ in await refusal(both)] == [f"items[1].{wire}"]
    await office.change(plural, Change(row, {FIELDS[plural]: office.people["Ben"]}))
    assert (await office.current(plural, row)).values[FIELDS[plural]] == office.people["Ben"]


async def test_members_are_listed_searched_and_found_by_id(office: Office) -> None:
    ada, ben = office.people["Ada"], office.people["Ben"]
    listed = await office.listed("members", office.here)
    assert [(row["id"], row["fullName"]) for row in listed] == [(str(ada), "Ada"), (str(ben), "Ben")]
    assert listed[0].keys() == {"id", "fullName", "profilePictureUrl", "joinedAt"}
    assert [row["id"] for row in await office.listed("members", office.here, search="be")] == [str(ben)]
    assert len(await office.listed("members", EveryTenant(), id=f"{ada},{ben}")) == 3
    async with office.database.read_only(office.here) as read:
        assert await read.records.get(DESK["members"], ada, WHOLE) is not None
        assert await read.records.get(DESK["members"], office.people["Cem"], WHOLE) is None


async def test_rows_include_and_filter_by_their_member(office: Office) -> None:
    of_ada, of_ben = (
        await office.add("errands", office.people["Ada"]),
        await office.add("errands", office.people["Ben"]),
    )
    none = await office.add("errands", None)
    rows = await office.listed("errands", office.here, include="assignee", sort="assignee.fullName")
    names = [row["assignee"] and row["assignee"]["fullName"] for row in rows]  # type: ignore[index]
    assert ([row["id"] for row in rows], names) == ([str(of_ada), str(of_ben), str(none)], ["Ada", "Ben", None])
    found = await office.listed("errands", office.here, **{"assignee.fullName.contains": "EN"})
    assert [row["id"] for row in found] == [str(of_ben)]
    # the same user is another member there
    await office.add("errands", office.people["Ada"], office.there)
    rows = await office.listed("errands", EveryTenant(), include="assignee", **{"assignee.fullName": "Ada"})
    assert {row["tenantId"] for row in rows} == {str(office.here.id), str(office.there.id)}


@pytest.mark.parametrize("account", [False, True])
async def test_clear_sets_null_with_version_and_history_also_in_deleted_rows(office: Office, account: bool) -> None:
    ada, errands = office.people["Ada"], DESK["errands"]
    both = await office.add("errands", ada, second_id=ada)
    gone, other = await office.add("errands", ada), await office.add("errands", office.people["Ben"])
    elsewhere = await office.add("errands", ada, office.there)
    async with office.database.transaction(office.here) as tx:
        await tx.records.remove(errands, [gone], ACT, None)
    await office.leave("Ada", None if account else office.here.id)
    current = await office.current("errands", both)
    assert (current.values["assignee_id"], current.values["second_id"], current.version) == (None, None, 3)
    async with office.database.read_only(office.here) as read:
        lines, _ = await read.history.page(errands, both, 0, 10)
        deleted = await read.records.get(errands, gone, DELETED)
    assert [line.action for line in lines] == ["changed", "changed", "created"]
    assert [change.field for line in lines[:2] for change in line.changes] == ["secondId", "assigneeId"]
    assert deleted is not None
    assert (msgspec.json.decode(deleted.body)["assigneeId"], deleted.version) == (None, 3)
    assert (await office.current("errands", other)).version == 1
    left = (await office.current("errands", elsewhere, office.there)).values["assignee_id"]
    assert left == (None if account else ada)


async def test_restrict_refuses_and_changes_nothing(office: Office) -> None:
    ada = office.people["Ada"]
    letters = await office.add_all("letters", [ada, ada, office.people["Ben"]])
    errand = await office.add("errands", ada)
    async with office.database.transaction(office.here) as tx:
        await tx.records.remove(DESK["letters"], letters[:1], ACT, None)
    for tenant_id in (office.here.id, None):
        with pytest.raises(StillReferredTo) as caught:
            await office.leave("Ada", tenant_id)
        assert caught.value.by == {office.here.id: {Referrer("letters", ("writer_id",), 2)}}
    assert (await office.current("errands", errand)).version == 1
    await office.leave("Ada", office.there.id)
    async with office.database.transaction(office.here) as tx:
        await tx.records.purge(DESK["letters"], letters[:2], ACT, None)
    await office.leave("Ada")


async def test_keep_leaves_the_id_that_can_be_sent_back(office: Office) -> None:
    ada, ben = office.people["Ada"], office.people["Ben"]
    row, other = await office.add("memos", ada), await office.add("memos", ben)
    await office.leave("Ada")
    assert (await office.current("memos", row)).version == 1
    await office.change("memos", Change(row, {"author_id": ada, "title": "n"}))
    await office.change("memos", Change(row, {"author_id": ada}), Change(other, {"author_id": ben, "title": "o"}))
    wrong = [("authorId", "refers to nothing that exists")]
    assert await refusal(office.change("memos", Change(other, {"author_id": ada}))) == wrong
    swapped = office.change("memos", Change(row, {"author_id": ada}), Change(other, {"author_id": ada}))
    assert [field for field, _ in await refusal(swapped)] == ["items[1].authorId"]
    lines = [written([str(n), str(new_id()), "11", None, None, title, str(ada)]) for n, title in ((2, "n"), (3, "o"))]
    loaded = await office.load("memos", lines, DESK["memos"].by_name["title"])
    assert (loaded.imported, [error.row for error in loaded.errors]) == (1, [3])
    found = await office.listed("memos", office.here, include="by", id=str(row))
    assert (found[0]["authorId"], found[0]["by"]) == (str(ada), None)
    async with office.database.transaction(office.here) as tx:
        await tx.records.remove(DESK["memos"], [row], ACT, None)
        await tx.records.restore(DESK["memos"], row, ACT)


async def test_an_import_names_rows_without_a_member(office: Office) -> None:
    lines = [
        written([str(n), str(new_id()), "t", str(office.people[name]), None])
        for n, name in ((2, "Ada"), (3, "Cem"), (4, "Dan"))
    ]
    loaded = await office.load("errands", lines)
    assert (loaded.imported, [error.row for error in loaded.errors]) == (1, [3, 4])
    assert loaded.errors[0].details[0].field == "assigneeId"


async def test_a_deleted_tenant_keeps_its_references(office: Office) -> None:
    await office.add("letters", office.people["Ben"])
    async with office.database.transaction(EveryTenant()) as tx:
        await tx.tenants.lock_to_remove(office.here.id)
        await tx.tenants.remove(office.here.id, NOW)
    # until the tenant is erased, its rows hold the account
    with pytest.raises(StillReferredTo):
        await office.leave("Ben")
    await office.leave("Cem")


@pytest.mark.parametrize("plural", FIELDS)
@pytest.mark.parametrize("is_batch", [False, True])
async def test_a_member_who_leaves_during_a_write_is_cleared_or_does_not_exist(
    desk_database: PostgresDatabase, plural: str, is_batch: bool
) -> None:
    """Both orders: the write first, then the leaving member, and the other way round."""
    office = await furnished(desk_database)
    model, ada, ben = DESK[plural], office.people["Ada"], office.people["Ben"]
    empty: dict[str, object] = {field.name: None for field in model.declared}
    rows = [NewRow(new_id(), {**empty, "title": "a", FIELDS[plural]: ada})]
    rows += [NewRow(new_id(), {**empty, "title": "b", FIELDS[plural]: ben if plural == "memos" else None})] * is_batch

    async def waits() -> bool:
        async with desk_database.read_only(office.here) as read:
            return bool(await read.connection.fetchval(SOMEBODY_WAITS))

    async def leave() -> Error | None:
        try:
            await office.leave("Ada", office.here.id)
        except Error as error:
            return error
        return None

    async with desk_database.transaction(office.here) as tx:
        await tx.records.add(model, rows, ACT)
        leaving = asyncio.create_task(leave())
        await until(waits)
    assert isinstance(await leaving, StillReferredTo) is (plural == "letters")
    kept = (await office.current(plural, rows[0].id)).values[FIELDS[plural]]
    assert kept == (ada if plural in ("letters", "memos") else None)

    # Ben leaves while a row that names him waits
    async with desk_database.transaction(EveryTenant()) as tx:
        await tx.memberships.lock(ben)
        await tx.member_references.release(ben, office.here.id, ben, NOW)
        await tx.memberships.remove(ben, office.here.id)
        adding = asyncio.create_task(refusal(office.add_all(plural, [ben] if not is_batch else [None, ben])))
        await until(waits)
    assert all(message == "refers to nothing that exists" for _, message in await adding)


async def test_a_write_about_a_member_does_not_wait_for_the_users_other_tenants(
    desk_database: PostgresDatabase,
) -> None:
    office = await furnished(desk_database)
    async with desk_database.transaction(office.here) as tx:
        shift = NewRow(new_id(), {"title": "t", "worker_id": office.people["Ada"]})
        await tx.records.add(DESK["shifts"], [shift], ACT)
        await office.add("shifts", office.people["Ada"], office.there)
