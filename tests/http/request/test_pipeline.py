"""The pipeline before and after any handler: bodies that do not come or are not read, headers, counting."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, cast

import pytest
from litestar import post
from litestar.connection import Request

from adapters.http import strict_reading
from adapters.http.app import HttpSettings
from adapters.http.request import body
from adapters.http.request.body import BodyReader, TooSlow
from adapters.http.request.export import Export
from adapters.http.request.rules import PUBLIC, rules
from adapters.http.request.strict_request import PARSED
from domain.bounded_cache import BoundedCache
from domain.errors import BadRequest
from domain.limits import Limit
from tests.http.app import ADMIN, TestApp, client_of
from tests.http.built_once import asgi_of

UNKNOWN = "01900000-0000-7000-8000-000000000000"


Message = dict[str, Any]

POST = {
    "type": "http",
    "http_version": "1.1",
    "method": "POST",
    "path": "/api/auth/login",
    "raw_path": b"/api/auth/login",
    "query_string": b"",
    "client": ("127.0.0.1", 1),
}


def reader(receive: Any, length: int) -> BodyReader:
    return BodyReader(cast(Any, POST), receive, {b"content-length": b"%d" % length})


async def test_a_body_that_does_not_arrive_is_refused() -> None:
    async def silent() -> Message:
        return await asyncio.Future()

    arriving = reader(silent, 10)
    arriving.late_at = asyncio.get_running_loop().time()  # its patience is at its end
    with pytest.raises(TooSlow):
        await arriving()


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
async def test_a_body_earns_time_by_what_comes_of_it() -> None:
    async def brisk() -> Message:
        return {"type": "http.request", "body": b"x" * body.SLOWEST, "more_body": True}

    arriving = reader(brisk, body.SLOWEST * 3)
    await arriving()
    before = arriving.late_at
    message: Any = await arriving()
    assert message["body"] == b"x" * body.SLOWEST
    assert arriving.late_at == before + 1


async def ask(app: TestApp, path: str, pieces: list[Message], **headers: str) -> tuple[Message, list[Message]]:
    """The start of the answer, and the pieces that nobody has read."""
    left = list(pieces)
    sent = await answered(app, path, left, **headers)
    return sent[0], left


async def answered(app: TestApp, path: str, left: list[Message], **headers: str) -> list[Message]:
    """The messages of the answer; pieces that are read leave ``left``."""
    sent = list[Message]()

    async def receive() -> Message:
        return left.pop(0) if left else await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    given.append((b"host", b"localhost"))
    scope: Any = {**POST, "path": path, "raw_path": path.encode(), "headers": given}
    await asgi_of(app.services)(scope, cast(Any, receive), cast(Any, send))
    return sent


SMALL: list[Message] = [{"type": "http.request", "body": b"x" * 600, "more_body": False}]


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/api/users", 401), ("/health/live", 405)])
async def test_a_small_body_is_read_before_an_early_answer(app: TestApp, path: str, status: int) -> None:
    start, left = await ask(app, path, SMALL, content_length="600")
    assert (start["status"], left) == (status, [])
    assert b"connection" not in dict(start["headers"])


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/api/users", 401), ("/health/live", 405)])
@pytest.mark.parametrize("told", [{"content_length": "70000"}, {"transfer_encoding": "chunked"}])
async def test_a_large_or_endless_body_ends_the_connection(
    app: TestApp, path: str, status: int, told: dict[str, str]
) -> None:
    start, left = await ask(app, path, SMALL, **told)
    assert (start["status"], left) == (status, SMALL)
    assert dict(start["headers"])[b"connection"] == b"close"


@pytest.mark.promise("security, transport: Authorization, Host, Content-Length and Content-Type stand once")
@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("/api/users", b"authorization", "same"),
        ("/api/products", b"authorization", "Bearer another"),
        ("/api/auth/login", b"content-type", "application/json"),
        ("/api/auth/refresh", b"content-length", "2"),
        ("/api/auth/refresh", b"host", "localhost"),
        ("/api/products", b"idempotency-key", "another"),
        ("/api/products", b"x-tenant-scope", "all"),
        ("/api/auth/login", b"x-app-id", "another"),
        ("/api/auth/refresh", b"transfer-encoding", "chunked"),
        ("/api/auth/refresh", b"transfer-encoding", "identity"),
    ],
)
async def test_a_duplicate_security_header_is_refused(app: TestApp, path: str, name: bytes, value: str) -> None:
    app.clock.move(timedelta(minutes=2))
    token = f"Bearer {app.tokens['acme']}"
    given = [(b"content-type", b"application/json"), (b"content-length", b"2"), (b"host", b"localhost")]
    given += [(b"idempotency-key", b"key"), (b"x-tenant-scope", b"all")] if path == "/api/products" else []
    given += [(b"transfer-encoding", b"chunked")] if name == b"transfer-encoding" else []
    given += [(b"x-app-id", b"shop")] if path == "/api/auth/login" else []
    given += [(b"authorization", token.encode()), (name, value.replace("same", token).encode())]
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    plain: Any = {**POST, "path": path, "raw_path": path.encode()}
    scope: Any = {**plain, "headers": given}
    await asgi_of(app.services)(scope, cast(Any, receive), cast(Any, send))
    assert sent[0]["status"] == 400
    assert f"{name.decode()} occurs twice".encode() in sent[1]["body"]
    assert int(dict(sent[0]["headers"])[b"x-ratelimit-remaining"]) >= 0
    # Other headers may stand twice, as RFC 9110 allows for lists.
    other: Any = {**plain, "headers": [*given[:-1], (b"accept", b"a"), (b"accept", b"b")]}
    await asgi_of(app.services)(other, cast(Any, receive), cast(Any, send))
    assert b"occurs twice" not in sent[3]["body"]


@pytest.mark.promise("security, rights: Rights and expiry are judged again after a body that took longer than a second")
@pytest.mark.parametrize(
    ("seconds", "meanwhile", "status"),
    [(2, "nothing", 201), (2, "disabled", 401), (1, "disabled", 201), (3_700, "nothing", 401)],
)
async def test_rights_are_judged_again_after_a_body_that_took_its_time(
    app: TestApp, seconds: int, meanwhile: str, status: int
) -> None:
    users = (await app.call("GET", "/api/users?search=admin@acme", as_whom="acme")).json()["items"]
    body = b'{"name": "a category of the disabled"}'
    sent: list[Message] = []
    pieces = [body[:9], body[9:]]

    async def receive() -> Message:
        if len(pieces) == 1:
            app.clock.move(timedelta(seconds=seconds))
            if meanwhile == "disabled":
                path = f"/api/users/{users[0]['id']}"
                await app.login("root", ADMIN)
                assert (await app.call("PUT", path, as_whom="root", json={"isActive": False})).status_code == 200
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    given = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    given += [(b"host", b"localhost"), (b"authorization", f"Bearer {app.tokens['acme']}".encode())]
    scope: Any = {**POST, "path": "/api/categories", "raw_path": b"/api/categories", "headers": given}
    await asgi_of(app.services)(scope, cast(Any, receive), cast(Any, send))
    assert sent[0]["status"] == status, sent[1]["body"]


@pytest.mark.promise("security, transport: /metrics without a token is not answered through a proxy")
@pytest.mark.parametrize("name", ["Forwarded", "Via", "X-Forwarded-Proto", "X-Real-IP", "CF-Connecting-IP"])
async def test_metrics_without_a_token_are_not_for_a_proxy(app: TestApp, name: str) -> None:
    assert (await app.client.get("/metrics")).status_code == 200
    assert (await app.client.get("/metrics", headers={name: "x"})).status_code == 404


@pytest.mark.promise(
    "security, input: a body that breaks off or comes in broken chunks is a 400 in the envelope, counted and logged"
)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/auth/login", "VALIDATION_ERROR"),
        ("/api/auth/refresh", "VALIDATION_ERROR"),
        ("/api/products", "BAD_REQUEST"),
    ],
)
async def test_a_body_that_breaks_off_is_answered_counted_and_logged(
    app: TestApp, path: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    app.clock.move(timedelta(minutes=2))
    named = {"authorization": f"Bearer {app.tokens['acme']}"} if path == "/api/products" else {}
    named |= {"content_type": "application/json", "transfer_encoding": "chunked"}
    remaining = []
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            start, text = await answered(app, path, [{"type": "http.disconnect"}], **named)
            headers = dict(start["headers"])
            remaining.append(int(headers[b"x-ratelimit-remaining"]))
            assert (start["status"], headers[b"connection"]) == (400, b"close")
            assert code in text["body"].decode()
    assert remaining[0] - remaining[1] == 1
    lines = [record for record in caplog.records if record.name == "adapters.http.operations.access_log"]
    assert len(lines) == 2
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_body_that_a_limit_by_email_looked_at_is_parsed_once(app: TestApp) -> None:
    """As at a login: the handler gets the very object that the pipeline parsed before it."""
    before: list[object] = []

    async def note(request: Request[Any, Any, Any]) -> None:
        before.append(request.scope["state"].get(PARSED))

    by_email = rules(policy=PUBLIC, limit=Limit("own", 5), by_email=True)

    @post("/own/login", status_code=200, before_request=note, opt=by_email)
    async def own(request: Request[Any, Any, Any]) -> dict[str, bool]:
        return {"is_the_same": await request.json() is before[0]}

    async with client_of(app.services, HttpSettings(routes=(own,))) as client:
        answer = await client.post("/own/login", json={"email": ADMIN})
    assert (answer.status_code, answer.json()) == (200, {"is_the_same": True})
    assert before == [{"email": ADMIN}]


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
async def test_a_slow_sender_gets_408_and_is_disconnected(app: TestApp) -> None:
    """The receiver raises what running out of time raises."""
    sent: list[dict[str, Any]] = []

    async def late() -> dict[str, Any]:
        raise TimeoutError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    served: Any = asgi_of(app.services)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"2")]
    await served({**POST, "headers": headers}, late, send)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


async def test_head_of_an_export_closes_it_unread() -> None:
    steps: list[str] = []

    async def rows() -> AsyncGenerator[bytes, None]:
        try:
            yield b"begun"
            steps.append("ran on")
            yield b"more"
        finally:
            steps.append("closed")

    pieces, sent = rows(), list[Message]()
    await anext(pieces)

    async def send(message: Message) -> None:
        sent.append(message)

    async def silent() -> Message:
        return await asyncio.Future()

    scope: Any = {**POST, "method": "HEAD"}
    response: Any = Export(pieces).to_asgi_response(app=None, request=Request(scope))
    await response(scope, silent, send)
    assert steps == ["closed"]
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[1]["body"] == b""


async def test_the_tenant_header_is_refused_where_it_means_nothing(app: TestApp) -> None:
    header = {"X-Tenant-Scope": "all"}
    for whom, path, status in (
        ("acme", "/api/users", 403),
        ("root", "/api/users", 400),
        (None, "/health/live", 403),
    ):
        answer = await app.call("GET", path, as_whom=whom, headers=header)
        assert answer.status_code == status, (whom, path)
    assert (await app.call("GET", "/api/users", as_whom="root", headers=header)).json()["errorCode"] == (
        "VALIDATION_ERROR"
    )


async def test_an_invalid_body_is_reported_before_a_missing_row(app: TestApp) -> None:
    for method, path, whom in (
        ("PUT", "/api/users/x", "acme"),
        ("POST", "/api/users/x/roles", "acme"),
        ("PUT", "/api/roles/x", "acme"),
        ("PUT", "/api/tenants/x", "root"),
        ("POST", "/api/tenants/x/users", "acme"),
    ):
        answer = await app.call(method, path, as_whom=whom, json={"nonsense": 1})
        assert answer.status_code == 400, path


@pytest.mark.parametrize("path", ["/api/roles", "/api/permissions", f"/api/users/{UNKNOWN}", "/api/tenants/current"])
async def test_an_unknown_parameter_is_named(app: TestApp, path: str) -> None:
    answer = await app.call("GET", f"{path}?pgae=2", as_whom="acme")
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "VALIDATION_ERROR")
    assert answer.json()["errors"][0]["field"] == "pgae"


@pytest.mark.parametrize("path", ["/api/users", "/api/products", "/api/products/batch", "/api/products/import"])
async def test_an_unknown_parameter_is_named_before_the_body_is_read(app: TestApp, path: str) -> None:
    answer = await app.call("POST", f"{path}?nme=x", as_whom="acme", content=b"{")
    assert answer.status_code == 400
    assert '"field":"nme"' in answer.text


@pytest.mark.promise(
    "declarations, values: Whole numbers from −2^63 to 2^63−1 are taken however they are read, and none beyond"
)
@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**40])
async def test_a_number_beyond_64_bits_is_refused_and_not_rounded(number: int) -> None:
    with pytest.raises(BadRequest):
        strict_reading.read_json(json.dumps({"n": number}).encode(), decimals=False)
    for kept in (2**63 - 1, -(2**63)):
        assert strict_reading.read_json(json.dumps(kept).encode(), decimals=False) == kept


def test_a_cache_is_bounded_by_size_and_time() -> None:
    remembered: BoundedCache[str, int] = BoundedCache(10)
    for number, key in enumerate("abc"):
        remembered.put(key, number, size=4, until=number)
    assert [remembered.get(key) for key in "abc"] == [None, 1, 2]
    remembered.drop_ended(1)
    assert [remembered.get(key) for key in "abc"] == [None, None, 2]
    remembered.put("d", 3, size=11, until=9)
    assert len(remembered) == 0
