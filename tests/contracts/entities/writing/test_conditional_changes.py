"""Changes on conditions: values that may be read and not written, and versions, of one row and of many.

Idempotency: responses stored under a key for repeated requests.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from application.entities.checks.conditional_changes import change_of
from application.entities.writing import Write
from application.ports.entities.idempotency import Claim, StoredResponse
from application.ports.entities.records import Change, Stored, Versions
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import Error, Forbidden, NotFound, PreconditionFailed
from domain.retention import KEPT_FOR
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_writing import ADA, HERE, Desk
from tests.library import Condition

WRITE = Write(caller=ADA, scope=HERE)
WHEN = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def volume(desk: Desk, title: str) -> Stored:
    given: dict[str, Any] = {"cost": Decimal("12.50"), "bought_at": WHEN, "condition": Condition.WORN}
    return await desk.create("volumes", title=title, **given)


async def change(desk: Desk, *changes: Change) -> list[int]:
    model, write = desk.registry["volumes"], WRITE
    if len(changes) == 1:
        return [(await desk.crud.update(write, model, changes[0])).version]
    return [row.version for row in await desk.batches.update(write, model, changes)]


async def refused(kind: type[Error], attempt: Callable[[], Awaitable[object]]) -> list[str]:
    with pytest.raises(kind) as error:
        await attempt()
    return [wrong.field for wrong in error.value.fields]


async def version_of(desk: Desk, row: Stored) -> int:
    async with desk.writing.database.read_only(HERE) as read:
        return (await read.records.current(desk.registry["volumes"], [row.id], locked=False))[row.id].version


@pytest.mark.promise(
    "declarations, rows sent back: a field that one may read and not write is no write while it is equal, by itself "
    "and in a batch"
)
async def test_an_equal_value_of_a_read_only_field_is_not_a_write(desk: Desk) -> None:
    row = await volume(desk, "a")
    kept: dict[str, object] = {
        "cost": Decimal("12.5"),
        "bought_at": WHEN,
        "condition": Condition.WORN,
        "genre_id": None,
    }
    assert await change(desk, change_of(row.id, {"title": "b"}, None, kept)) == [2]
    assert await change(desk, change_of(row.id, {}, None, kept)) == [2]


@pytest.mark.promise(
    "declarations, rows sent back: a field that one may read and not write is no write while it is equal, by itself "
    "and in a batch"
)
@pytest.mark.parametrize(
    ("name", "value", "wire"),
    [("cost", Decimal("12.51"), "cost"), ("bought_at", None, "boughtAt"), ("condition", Condition.NEW, "condition")],
)
async def test_a_closed_value_that_differs_is_forbidden(desk: Desk, name: str, value: object, wire: str) -> None:
    row, other = await volume(desk, "a"), await volume(desk, "b")
    different = change_of(row.id, {"title": "c"}, None, {name: value})
    assert await refused(Forbidden, lambda: change(desk, different)) == [wire]
    assert await refused(Forbidden, lambda: change(desk, Change(other.id, {"title": "d"}), different)) == [
        f"items[1].{wire}"
    ]
    assert [await version_of(desk, each) for each in (row, other)] == [1, 1]


async def test_a_row_that_is_absent_is_not_found(desk: Desk) -> None:
    absent = change_of(new_id(), {"title": "c"}, None, {"cost": Decimal(1)})
    assert await refused(NotFound, lambda: change(desk, absent)) == []


@pytest.mark.promise("declarations, values: If-Match takes lists and compares strongly, If-None-Match weakly")
@pytest.mark.parametrize(("versions", "holds"), [({1, 2}, False), ({3, 7}, True), (frozenset[int](), False)])
async def test_one_of_several_versions_will_do(desk: Desk, versions: set[int], holds: bool) -> None:
    row = await volume(desk, "a")
    for title in ("b", "c"):
        await change(desk, Change(row.id, {"title": title}))
    wanted: Versions = frozenset(versions)
    attempt = change_of(row.id, {"title": "d"}, wanted, {})
    if holds:
        assert await change(desk, attempt) == [4]
    else:
        assert await refused(PreconditionFailed, lambda: change(desk, attempt)) == []
        assert await version_of(desk, row) == 3


async def test_an_outdated_version_is_reported_before_a_differing_read_only_value(desk: Desk) -> None:
    row = await volume(desk, "a")
    await change(desk, Change(row.id, {"cost": Decimal(20)}))
    stale = change_of(row.id, {}, 1, {"cost": Decimal("12.50")})
    assert await refused(PreconditionFailed, lambda: change(desk, stale)) == []


@pytest.mark.promise(
    "declarations, rows sent back: a page that was read is taken by a batch, with a version for each item"
)
async def test_a_batch_names_every_item_with_another_version_and_changes_nothing(desk: Desk) -> None:
    rows = [await volume(desk, f"{n}") for n in range(4)]
    await change(desk, Change(rows[1].id, {"title": "x"}), Change(rows[3].id, {"title": "y"}))
    for kept in ({}, {"cost": Decimal("12.50")}):
        stale = [change_of(row.id, {"title": "z"}, 1, kept) for row in rows]
        named = await refused(PreconditionFailed, partial(change, desk, *stale))
        assert named == ["items[1].version", "items[3].version"]
    assert [await version_of(desk, row) for row in rows] == [1, 2, 1, 2]
    known = [change_of(row.id, {"title": "z"}, 1 + n % 2, {}) for n, row in enumerate(rows)]
    assert await change(desk, *known) == [2, 3, 2, 3]


async def test_a_batch_of_one_item_names_it_too(desk: Desk) -> None:
    row = await volume(desk, "a")
    model, write = desk.registry["volumes"], WRITE
    stale = Change(row.id, {"title": "b"}, 7)
    assert await refused(PreconditionFailed, lambda: desk.batches.update(write, model, [stale])) == ["items[0].version"]


@pytest.mark.promise("declarations, values: If-Match takes lists and compares strongly, If-None-Match weakly")
async def test_a_deletion_accepts_several_versions(desk: Desk) -> None:
    row, model, write = await volume(desk, "a"), desk.registry["volumes"], WRITE
    await refused(PreconditionFailed, lambda: desk.crud.delete(write, model, row.id, frozenset({2, 3})))
    await desk.crud.delete(write, model, row.id, frozenset({2, 1}))
    await refused(PreconditionFailed, lambda: desk.crud.purge(write, model, row.id, frozenset({7, 3})))
    await desk.crud.purge(write, model, row.id, frozenset({2, 3}))


HERE_OF_IDEMPOTENCY = OneTenant(new_id())
ADA_OF_IDEMPOTENCY = new_id()


def claim(key: str = "k", fingerprint: str = "f", **given: Any) -> Claim:
    values: dict[str, Any] = {
        "tenant_id": HERE_OF_IDEMPOTENCY.id,
        "user_id": ADA_OF_IDEMPOTENCY,
        "key": key,
        "fingerprint": fingerprint,
    }
    return Claim(**{**values, **given})


async def answer(
    database: WholeDatabase, claim: Claim, text: bytes, at: timedelta = timedelta(0)
) -> StoredResponse | None:
    """The stored response of the claim; ``text`` is stored when there is none."""
    async with database.transaction(OneTenant(claim.tenant_id)) as tx:
        first = await tx.answers.claim(claim, NOW + at)
        if first is None:
            await tx.answers.keep(claim, text, NOW + at)
    return first


async def test_the_first_answer_to_an_idempotency_key_is_stored(database: WholeDatabase) -> None:
    assert await answer(database, claim(), b"first") is None
    assert await answer(database, claim(fingerprint="g"), b"second") == StoredResponse("f", b"first")


async def test_keys_are_a_users_own_in_one_tenant(database: WholeDatabase) -> None:
    assert await answer(database, claim(), b"first") is None
    assert await answer(database, claim(user_id=new_id()), b"another user's") is None
    assert await answer(database, claim(tenant_id=new_id()), b"another tenant's") is None
    assert await answer(database, claim("other"), b"another key's") is None


async def test_a_rolled_back_transaction_stores_no_answer(database: WholeDatabase) -> None:
    async def fail() -> None:
        async with database.transaction(HERE_OF_IDEMPOTENCY) as tx:
            assert await tx.answers.claim(claim(), NOW) is None
            await tx.answers.keep(claim(), b"never", NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await answer(database, claim(), b"first") is None


async def test_after_a_day_the_key_is_free(database: WholeDatabase) -> None:
    assert await answer(database, claim(), b"first") is None
    assert await answer(database, claim(), b"late", KEPT_FOR - timedelta(seconds=1)) == StoredResponse("f", b"first")
    assert await answer(database, claim(fingerprint="g"), b"next day", KEPT_FOR) is None
    assert await answer(database, claim(), b"", KEPT_FOR) == StoredResponse("g", b"next day")


async def test_of_twenty_at_once_one_is_first_and_all_get_its_answer(database: WholeDatabase) -> None:
    answers = await asyncio.gather(*(answer(database, claim(), b"%d" % n) for n in range(20)))
    assert answers.count(None) == 1
    first = answers.index(None)
    assert {result.answer for result in answers if result is not None} == {b"%d" % first}
