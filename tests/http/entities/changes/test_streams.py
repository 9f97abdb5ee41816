"""GET /api/changes/stream and GET /api/{entities}/changes/stream."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from entrypoints.assembly.http_settings import http_settings
from entrypoints.settings.settings import read_settings
from tests.contracts.entities.changes.followed_entities import FOLLOWED
from tests.http.app import ADMIN, SETTINGS, TestApp, open_test_app
from tests.http.entities.changes.open_streams import listen
from tests.waiting import until

READER = ["read:boards", "read-own:cards", "create:cards", "update-own:cards"]
OLD = "MDAwMDAwMDAuMC4w"


@pytest_asyncio.fixture
async def app() -> AsyncIterator[TestApp]:
    opened = await open_test_app(entities=FOLLOWED)
    await opened.login("root", ADMIN)
    for name in ("acme", "globex"):
        await opened.make_tenant(name)
    await opened.make_role("acme", "Reader", READER)
    for name in ("ann", "ben"):
        await opened.make_user("acme", f"{name}@acme.example", ["Reader"])
        await opened.login(name, f"{name}@acme.example")
    yield opened
    opened.services.streams.end_all()
    await opened.client.aclose()


async def make(app: TestApp, plural: str, whom: str = "root in acme", **values: object) -> str:
    answer = await app.call("POST", f"/api/{plural}", as_whom=whom, json=values)
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["data"]["id"]
    return made


@pytest.mark.promise("GET /api/changes/stream: server-sent events that resume by Last-Event-ID or after")
async def test_a_stream_sends_changes_and_resumes_by_the_header(app: TestApp) -> None:
    listener = await listen(app, "changes/stream", "root in acme")
    start = listener.cursor
    board = await make(app, "boards", name="b")
    await app.call("PUT", f"/api/boards/{board}", as_whom="root in acme", json={"name": "c"})
    created, changed = await listener.first(2)
    assert (created.name, created.data["id"], created.action, changed.data["changed"]) == (
        "change",
        board,
        "created",
        ["name"],
    )
    page = (await app.call("GET", f"/api/changes?after={start}", as_whom="root in acme")).json()["data"]
    assert [each.data for each in listener.told] == page["items"]
    assert changed.id == page["cursor"]
    await listener.close()
    assert app.services.streams.count == 0
    for query, headers in ((f"after={created.id}", {}), (f"after={start}", {"last_event_id": created.id})):
        resumed = await listen(app, "changes/stream", "root in acme", query, **headers)
        assert (await resumed.first(1))[0] == changed
        await resumed.close()


async def test_a_stream_is_not_compressed_since_each_would_have_a_large_buffer() -> None:
    settings = http_settings(read_settings({**SETTINGS, "TENANTRY_COMPRESSION": "gzip"}))
    app = await open_test_app(entities=FOLLOWED, compression=settings.compression)
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    asked = asyncio.create_task(app.call("GET", "/api/changes/stream", as_whom="root in acme"))
    await until(count_of(app), 1)
    app.services.streams.end_all()
    answer = await asked
    assert (answer.status_code, answer.headers.get("content-encoding")) == (200, None)
    await app.client.aclose()


def count_of(app: TestApp) -> Callable[[], Awaitable[int]]:
    async def count() -> int:
        return app.services.streams.count

    return count


@pytest.mark.promise("GET /api/{entities}/changes/stream: the changes of one entity, with the filters of its list")
async def test_the_stream_of_an_entity_has_filters(app: TestApp) -> None:
    listener = await listen(app, "boards/changes/stream", "root in acme", "name=mine")
    await make(app, "boards", name="other")
    board = await make(app, "boards", name="mine")
    assert [(each.action, each.data["id"]) for each in await listener.first(1)] == [("created", board)]
    await listener.close()


async def test_streams_of_other_tenants_and_users_have_not_a_byte_of_a_row(app: TestApp) -> None:
    everybody = [await listen(app, "changes/stream", whom) for whom in ("ann", "ben", "root in acme", "root in globex")]
    await make(app, "labels", name="no permission")
    me = (await app.call("GET", "/api/auth/me", as_whom="ann")).json()["data"]["id"]
    await make(app, "cards", "ann", title="card of ann", ownerId=me)
    marks = {whom: await make(app, "boards", whom, name="end") for whom in ("root in acme", "root in globex")}
    ann, ben, acme, globex = everybody
    await acme.first(3)
    for listener in (ben, globex):
        assert [each.data["id"] in marks.values() for each in await listener.first(1)] == [True]
    assert [each.data["entity"] for each in await ann.first(2)] == ["cards", "boards"]
    for listener, texts in ((ben, [b"no permission", b"card of ann"]), (globex, [b"no permission", b"card of ann"])):
        assert [text for text in texts if text in listener.raw] == []
    assert b"no permission" not in ann.raw
    for listener in everybody:
        await listener.close()


@pytest.mark.parametrize(
    ("path", "whom", "status", "code"),
    [
        ("changes/stream?entities=labels", "ann", 403, "FORBIDDEN"),
        ("changes/stream?entities=helpers", "ann", 400, "VALIDATION_ERROR"),
        ("changes/stream?wait=5", "ann", 400, "VALIDATION_ERROR"),
        ("changes/stream?limit=5", "ann", 400, "VALIDATION_ERROR"),
        ("labels/changes/stream", "ann", 403, "FORBIDDEN"),
        ("cards/changes/stream?secret=x", "ann", 400, "VALIDATION_ERROR"),
        ("cards/changes/stream?secret.contains=x", "ann", 400, "VALIDATION_ERROR"),
        ("cards/changes/stream?board.name=x", "ann", 400, "VALIDATION_ERROR"),
        ("changes/stream?after=x", "ann", 400, "BAD_REQUEST"),
        (f"changes/stream?after={'a' * 10_000}", "ann", 400, "BAD_REQUEST"),
        (f"changes/stream?after={OLD}", "ann", 410, "CURSOR_EXPIRED"),
        ("changes/stream", "root", 200, ""),
    ],
)
async def test_wrong_questions_are_refused_before_a_stream_begins(
    app: TestApp, path: str, whom: str, status: int, code: str
) -> None:
    # A HEAD request of a permitted stream has no body, and opens none.
    method = "HEAD" if status == 200 else "GET"
    answer = await app.call(method, f"/api/{path}", as_whom=whom)
    assert answer.status_code == status
    assert status == 200 or answer.json()["error"]["code"] == code
    assert app.services.streams.count == 0


async def test_the_header_of_a_resumed_stream_is_checked(app: TestApp) -> None:
    for given, status in (("x" * 10_000, 400), ("MDAwMDAwMDAuMC4x", 410), (OLD, 410)):
        answer = await app.call("GET", "/api/changes/stream", as_whom="ann", headers={"Last-Event-ID": given})
        assert answer.status_code == status


async def test_a_stream_of_every_tenant_is_refused(app: TestApp) -> None:
    every = {"X-Tenant-Scope": "all"}
    answer = await app.call("GET", "/api/changes/stream", as_whom="root in acme", headers=every)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")
    member = await app.call("GET", "/api/changes/stream", as_whom="ann", headers={"X-Tenant-Scope": OLD})
    assert member.status_code == 403


async def test_a_super_admins_stream_of_a_tenant_ends_when_the_tenant_is_closed(app: TestApp) -> None:
    tenant_id = await app.make_tenant("initech")
    listener = await listen(app, "changes/stream", "root", x_tenant_scope=tenant_id)
    await make(app, "boards", "root in initech", name="before")
    await listener.first(1)
    closed = await app.call("DELETE", f"/api/tenants/{tenant_id}", as_whom="root")
    assert closed.status_code == 200, closed.text
    assert await listener.ending() == "revoked"


@pytest.mark.parametrize("ended", ["logout", "disabled", "other roles", "changed role", "removed", "closed tenant"])
async def test_a_stream_ends_when_its_user_loses_rights(app: TestApp, ended: str) -> None:
    users = (await app.call("GET", "/api/users", as_whom="root in acme")).json()["items"]
    ann = next(user["id"] for user in users if user["email"] == "ann@acme.example")
    listener = await listen(app, "changes/stream", "ann")
    roles = (await app.call("GET", "/api/roles", as_whom="root in acme")).json()["items"]
    role = next(role["id"] for role in roles if role["name"] == "Reader")
    tenants = (await app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    acme = next(tenant["id"] for tenant in tenants if tenant["identifier"] == "acme")
    calls: dict[str, tuple[str, str, str, Any]] = {
        "logout": ("POST", "/api/auth/logout", "ann", {}),
        "disabled": ("PUT", f"/api/users/{ann}", "root in acme", {"isActive": False}),
        "other roles": ("POST", f"/api/users/{ann}/roles", "root in acme", {"roleNames": []}),
        "changed role": ("PUT", f"/api/roles/{role}", "root in acme", {"permissions": ["read:cards"]}),
        "removed": ("DELETE", f"/api/users/{ann}", "root in acme", None),
        "closed tenant": ("PUT", f"/api/tenants/{acme}", "root", {"isActive": False}),
    }
    method, path, whom, body = calls[ended]
    answer = await app.call(method, path, as_whom=whom, json=body)
    assert answer.status_code == 200, answer.text
    if ended != "closed tenant":
        await make(app, "boards", name="after the loss")
    assert await listener.ending() == "revoked"
    assert b"after the loss" not in listener.raw


@pytest.mark.promise("GET /api/changes/stream: a stream ends with its rights, within one event or 5 seconds")
async def test_a_stream_ends_when_a_field_is_closed_to_its_user(app: TestApp) -> None:
    await app.make_role("acme", "Keeper", ["read:cards", "read:secrets"])
    await app.make_user("acme", "kim@acme.example", ["Keeper"])
    await app.login("kim", "kim@acme.example")
    roles = (await app.call("GET", "/api/roles", as_whom="root in acme")).json()["items"]
    keeper = next(role["id"] for role in roles if role["name"] == "Keeper")
    listeners = [await listen(app, path, "kim") for path in ("changes/stream", "cards/changes/stream")]
    waiting = asyncio.create_task(app.call("GET", f"/api/changes?wait=20&after={listeners[0].cursor}", as_whom="kim"))
    card = await make(app, "cards", title="t", secret="shown")
    assert [(await each.first(1))[0].data["data"]["secret"] for each in listeners] == ["shown"] * 2
    assert (await waiting).json()["data"]["items"][0]["data"]["secret"] == "shown"
    last = listeners[0].cursor
    changed = await app.call(
        "PUT", f"/api/roles/{keeper}", as_whom="root in acme", json={"permissions": ["read:cards"]}
    )
    assert changed.status_code == 200, changed.text
    answer = await app.call("PUT", f"/api/cards/{card}", as_whom="root in acme", json={"secret": "closed now"})
    assert answer.status_code == 200, answer.text
    for listener in listeners:
        assert await listener.ending() == "revoked"
        assert b"closed now" not in listener.raw
    await app.login("kim", "kim@acme.example")
    resumed = await listen(app, "changes/stream", "kim", f"after={last}")
    (event,) = await resumed.first(1)
    assert (event.data["changed"], event.data["data"]["title"]) == ([], "t")
    assert b"secret" not in resumed.raw
    await resumed.close()


async def test_too_many_streams_of_the_process_are_refused_with_the_time_to_wait() -> None:
    app = await open_test_app({"TENANTRY_CHANGES_STREAMS": "1"}, entities=FOLLOWED)
    await app.login("root", ADMIN)
    listener = await listen(app, "changes/stream", "root")
    for path in ("changes/stream", "boards/changes/stream"):
        refused = await app.call("GET", f"/api/{path}", as_whom="root")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert int(refused.headers["Retry-After"]) > 0
    await listener.close()
    await (await listen(app, "changes/stream", "root")).close()
    app.services.streams.end_all()
    await app.client.aclose()
