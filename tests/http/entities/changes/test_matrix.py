"""Every route of the feed and the webhooks, for every kind of reader."""

from collections.abc import AsyncIterator
from typing import cast
from uuid import UUID

import pytest

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from application.ports.entities.records import Act
from application.ports.whole_database import WholeDatabase
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.changes.followed_entities import FEEDS, REGISTRY
from tests.http.entities.changes.readers import ALL, Readers, actions, open_readers
from tests.http.entities.isolation.isolation import ELSEWHERE, REFUSED
from tests.http.served import served_by

OF_TENANTS = [plural for plural in FEEDS if REGISTRY[plural].tenant_owned]
SOFT = [plural for plural in OF_TENANTS if REGISTRY[plural].soft_delete]


@pytest.fixture(scope="module", params=["memory", "postgres"])
def followed_database(request: pytest.FixtureRequest) -> WholeDatabase:
    if request.param == "memory":
        return MemoryDatabase(REGISTRY, CountingIds())
    return cast(WholeDatabase, request.getfixturevalue("postgres_followed"))


@pytest.fixture(scope="module")
async def readers(followed_database: WholeDatabase) -> AsyncIterator[Readers]:
    opened = await open_readers(followed_database)
    yield opened
    opened.app.services.streams.end_all()
    await opened.app.client.aclose()


def paths(plural: str) -> tuple[str, ...]:
    return (*ALL, f"{plural}/changes", f"{plural}/changes/stream")


async def test_the_matrix_has_every_route_of_the_feed(readers: Readers) -> None:
    table = [each.path for each in served_by(readers.app.services) if each.path.endswith(("/changes", "/stream"))]
    assert sorted(table) == sorted({f"/api/{path}" for plural in FEEDS for path in paths(plural)})


@pytest.mark.promise("security, isolation: the feed, its streams and webhooks show a reader what lists show")
@pytest.mark.parametrize("whom", REFUSED, ids=lambda whom: whom.name)
async def test_callers_without_the_permission_are_refused(readers: Readers, whom: object) -> None:
    headers = whom.headers(UUID(readers.tenants["acme"]))  # type: ignore[attr-defined]
    token, status = whom.token, REFUSED[whom]  # type: ignore[attr-defined, index]
    for path in sorted({path for plural in FEEDS for path in paths(plural)}):
        # Without entities, the routes of all entities show those that the caller may read: here none.
        if not (token == "powerless" and path in ALL):
            answer = await readers.app.call("GET", f"/api/{path}", as_whom=token, headers=headers)
            assert answer.status_code == status, (path, answer.text)


@pytest.mark.promise("security, isolation: the feed, its streams and webhooks show a reader what lists show")
@pytest.mark.parametrize("plural", OF_TENANTS)
async def test_another_tenant_receives_no_byte_of_a_row(readers: Readers, plural: str) -> None:
    starts = {whom: await readers.cursor(str(whom.token)) for whom in ELSEWHERE}
    row_id = await readers.write_all(plural, f"secret of acme in {plural}")
    for whom, after in starts.items():
        for path, answer in (await readers.answers(str(whom.token), plural, after)).items():
            assert row_id.encode() not in answer, (whom.name, path)
            assert b"secret of acme" not in answer, (whom.name, path)
    assert await readers.delivered("robot", plural) == b""


@pytest.mark.promise("security, isolation: the feed, its streams and webhooks show a reader what lists show")
@pytest.mark.parametrize("plural", FEEDS)
async def test_a_super_admin_follows_another_tenant_by_the_header_only(readers: Readers, plural: str) -> None:
    acme = readers.tenants["acme"]
    after = await readers.cursor("root in acme")
    row_id = await readers.write_all(plural, "followed", "root in acme")
    answers = await readers.answers("root", plural, after, x_tenant_scope=acme)
    for path, answer in answers.items():
        assert actions(answer, row_id)[:2] == ["created", "changed"], path
    for path in paths(plural):
        every = await readers.app.call("GET", f"/api/{path}", as_whom="root", headers={"X-Tenant-Scope": "all"})
        assert (every.status_code, every.json()["error"]["code"]) == (400, "BAD_REQUEST"), path
    used = await readers.app.call(
        "GET", "/api/audit-events?action.startsWith=tenant-scope.&pageSize=100", as_whom="acme"
    )
    used_actions = {event["action"] for event in used.json()["data"]["items"]}
    assert {f"tenant-scope.{plural}.{name}" for name in ("changes", "stream")} <= used_actions
    assert {"tenant-scope.changes.list", "tenant-scope.changes.stream"} <= used_actions


@pytest.mark.promise("security, isolation: the feed, its streams and webhooks show a reader what lists show")
@pytest.mark.parametrize("plural", ["cards", "tickets"])
async def test_a_reader_of_own_rows_receives_no_byte_of_another_users_row(readers: Readers, plural: str) -> None:
    after = await readers.cursor("owner")
    owners = [str(new_id()), None]
    rows = [await readers.write_all(plural, f"not of the owner {plural}", ownerId=owner) for owner in owners]
    for filters in ((), ("isDeleted=true",), ("isDeleted=false",), ("version.gt=0",)):
        for path, answer in (await readers.answers("owner", plural, after, *filters)).items():
            assert b"not of the owner" not in answer, (path, filters)
            assert not any(row_id.encode() in answer for row_id in rows), (path, filters)
    assert await readers.delivered("owner", plural) == b""


@pytest.mark.promise("security, isolation: the feed, its streams and webhooks show a reader what lists show")
@pytest.mark.parametrize("plural", ["cards", "tickets"])
async def test_a_reader_of_own_rows_receives_all_changes_of_own_rows(readers: Readers, plural: str) -> None:
    whole = ["created", "changed", "deleted", "restored", "deleted", "purged"]
    after = await readers.cursor("owner")
    row_id = await readers.write_all(plural, "of the owner", ownerId=readers.users["owner"])
    for path, answer in (await readers.answers("owner", plural, after)).items():
        assert actions(answer, row_id) == whole, path
    for path, answer in (await readers.answers("owner", plural, after, "isDeleted=true")).items():
        assert actions(answer, row_id) == ["entered", "left", "entered", "purged"], path
    await readers.delivered("owner", plural)
    row_id = await readers.write_all(plural, "of the account", ownerId=readers.accounts["owner"])
    assert (await readers.delivered("owner", plural)).count(b'"data":{"id":"' + row_id.encode()) == len(whole)


async def test_own_rows_by_a_relation_and_by_a_share_are_received(readers: Readers) -> None:
    after, owner = await readers.cursor("owner"), readers.users["owner"]
    board, other = [await readers.make("boards", name) for name in ("helped", "other")]
    await readers.call("acme", "POST", "helpers", {"boardId": board, "userId": owner}, 201)
    helped = await readers.make("cards", "of the helped board", boardId=board)
    hidden = await readers.make("cards", "of the other board", boardId=other)
    shared = await readers.make("cards", "shared with the owner")
    async with readers.app.adapters.database.transaction(OneTenant(UUID(readers.tenants["acme"]))) as tx:
        await tx.shares.put(REGISTRY["cards"], UUID(shared), UUID(owner), "read", Act(None, NOW))
    await readers.sequence()
    for path, answer in (await readers.answers("owner", "cards", after)).items():
        assert actions(answer, helped) == ["created"], path
        assert actions(answer, hidden) == [], path
        assert "entered" in actions(answer, shared), path
        assert b"of the other board" not in answer, path


@pytest.mark.promise("security, isolation: the feed, its streams and webhooks show a reader what lists show")
async def test_a_closed_field_is_in_no_change(readers: Readers) -> None:
    starts = {whom: await readers.cursor(whom) for whom in ("reader", "acme")}
    card = await readers.make("cards", "with a closed field", secret="closed value")
    await readers.call("acme", "PUT", f"cards/{card}", {"secret": "another closed value"})
    await readers.sequence()
    for path, answer in (await readers.answers("reader", "cards", starts["reader"])).items():
        assert actions(answer, card) == ["created", "changed"], path
        assert b'secret"' not in answer, path
        assert b"closed value" not in answer, path
    for path, answer in (await readers.answers("acme", "cards", starts["acme"])).items():
        assert b"another closed value" in answer, path
    delivered = await readers.delivered("reader", "cards")
    assert card.encode() in delivered
    assert b"closed value" not in delivered
    for path in paths("cards")[2:]:
        for name in ("secret", "secret.contains", "secret.isNull"):
            refused = await readers.app.call("GET", f"/api/{path}?{name}=a", as_whom="reader")
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR"), path


@pytest.mark.promise("security, isolation: the feed, its streams and webhooks show a reader what lists show")
@pytest.mark.parametrize("plural", SOFT)
async def test_deleted_rows_need_the_permission_to_delete(readers: Readers, plural: str) -> None:
    starts = {whom: await readers.cursor(whom) for whom in ("reader", "deleter")}
    row_id = await readers.write_all(plural, "deleted row")
    expected = {"reader": ["purged"], "deleter": ["entered", "left", "entered", "purged"]}
    for whom, after in starts.items():
        for path, answer in (await readers.answers(whom, plural, after, "isDeleted=true")).items():
            assert actions(answer, row_id) == expected[whom], (whom, path)
            assert (b"deleted row" in answer) is (whom == "deleter"), (whom, path)
        for path, answer in (await readers.answers(whom, plural, after, "isDeleted=false")).items():
            assert actions(answer, row_id) == ["created", "changed", "left", "entered", "left"], (whom, path)
