"""ASGI ``send`` after the pipeline: adds headers to every response, sends large bodies at the client's pace, and
removes the body for HEAD.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from litestar.types import Message, Send

from adapters.http.request.body import BodyReader
from adapters.http.request.export import Pace
from adapters.http.request.rules import Rules
from application.ports.database import ASKED_BY
from domain.errors import RateLimited
from domain.limits import Hit, Verdict
from domain.scope import Client

HSTS = (b"strict-transport-security", b"max-age=31536000")
"""Makes browsers use https for this host for a year. Subdomains are excluded, because they may belong to others."""
NO_STORE = (b"cache-control", b"no-store")
API = b"/api/"
OPEN_TO_ALL = (b"public", b"s-maxage", b"must-revalidate")
"""Directives that let shared caches store the answer to an authenticated request: RFC 9111, section 3.5."""

PIECE = 256 * 1024
"""Bytes of an answer handed to the server at a time; a longer answer is a large answer."""
LARGE_OF_A_TENANT = 256 * 1024 * 1024
LARGE_OF_ALL = 512 * 1024 * 1024
READ_WITHIN = 5
"""Seconds before a client may retry a refused large answer."""


@dataclass(eq=False, slots=True)
class LargeAnswers:
    """Bytes of large answers that clients have not read yet, per requesting tenant.

    All tenants share the process's memory: a tenant has at most ``of_a_tenant`` bytes, or one answer once the total
    reaches ``of_all``.
    """

    of_a_tenant: int = LARGE_OF_A_TENANT
    of_all: int = LARGE_OF_ALL
    total: int = 0
    _held: dict[UUID, int] = field(default_factory=dict)

    def take(self, asked_by: UUID, size: int, *, may_refuse: bool) -> None:
        """Reserve ``size`` bytes of answers to a tenant. Raises RateLimited."""
        held = self._held.get(asked_by, 0)
        is_too_much = held + size > self.of_a_tenant or self.total + size > self.of_all
        if held and may_refuse and is_too_much:
            told = f"Answers of {held >> 20} MiB wait for your tenant to read them: read those first, or ask for less."
            raise RateLimited(READ_WITHIN, told)
        self._held[asked_by] = held + size
        self.total += size

    def give_back(self, asked_by: UUID, size: int) -> None:
        self.total -= size
        held = self._held.pop(asked_by) - size
        if held:
            self._held[asked_by] = held


class Outgoing:
    """ASGI ``send`` for all layers after the pipeline: adds the headers of every response, and removes the body for
    HEAD.

    The service sends a large answer in pieces at the client's reading speed, with a minimum speed. Its bytes count for
    ``large`` until the pipeline calls ``end`` at the end of the request. If ``large`` has no room for an answer,
    ``refusal`` replaces it before Litestar begins the answer.
    """

    __slots__ = (
        "_below",
        "_client",
        "_held",
        "_is_head",
        "_is_https",
        "_is_read",
        "_send",
        "body",
        "counted",
        "large",
        "refusal",
        "rules",
        "status",
        "verdict",
    )

    def __init__(
        self, body: BodyReader, client: Client, method: str, send: Send, *, is_https: bool, below: bytes
    ) -> None:
        self.body, self._client, self._send = body, client, send
        self._is_head, self._is_https, self._below = method == "HEAD", is_https, below
        self._is_read = method == "GET"
        self._held: tuple[UUID, int] | None = None
        self.large: LargeAnswers | None = None
        self.refusal: RateLimited | None = None
        self.status = 0
        self.rules: Rules | None = None
        self.verdict: Verdict | None = None
        self.counted: Sequence[Hit] = ()

    async def __call__(self, message: Message) -> None:
        if self.refusal is not None or not self._has_room(message):
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = await self._completed(message["headers"])
        elif self._is_head and message["type"] == "http.response.body":
            message["body"] = b""
        elif message["type"] == "http.response.body" and len(message["body"]) > PIECE and not message["more_body"]:
            await self._send_large(message["body"])
            return
        await self._send(message)

    async def _completed(self, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        rules, own = self.rules, self._headers()
        if rules is not None and rules.is_cached:
            # A cached response contains the headers of its original request, so replace them.
            given = [header for header in given if header[0] not in dict(own)]
        headers = [*given, *own]
        if self._below:
            headers = [_found_below(self._below, name, value) for name, value in headers]
        # Security: errors may contain private data of the caller.
        if rules is not None and rules.is_private:
            headers = _kept_by_the_caller(headers)
        if self.body.left and not await self.body.drain():
            headers.append((b"connection", b"close"))
        return headers

    def _has_room(self, message: Message) -> bool:
        """Reserve room for a large answer at its start. Refuse a read without room, but never the result of a write."""
        if message["type"] != "http.response.start" or self.large is None or self._is_head:
            return True
        size = next((int(value) for name, value in message["headers"] if name == b"content-length"), 0)
        # Count only callers with a tenant: anonymous clients receive only shared files.
        if size > PIECE and (asked_by := ASKED_BY.get()) is not None:
            try:
                self.large.take(asked_by, size, may_refuse=self._is_read)
            except RateLimited as refusal:
                self.refusal = refusal
                return False
            self._held = asked_by, size
        return True

    async def _send_large(self, body: bytes) -> None:
        now, pace = asyncio.get_running_loop().time, Pace()
        for at in range(0, len(body), PIECE):
            begun, piece = now(), body[at : at + PIECE]
            async with asyncio.timeout(pace.left):
                await self._send({"type": "http.response.body", "body": piece, "more_body": at + PIECE < len(body)})
            pace.waited(now() - begun, len(piece))

    def end(self) -> None:
        if self._held is not None and self.large is not None:
            self.large.give_back(*self._held)
            self._held = None

    def _headers(self) -> list[tuple[bytes, bytes]]:
        headers = [
            (b"x-request-id", self._client.request_id.encode("ascii")),
            (b"x-content-type-options", b"nosniff"),
        ]
        if self._is_https:
            headers.append(HSTS)
        if self.verdict is not None:
            headers += (
                (b"x-ratelimit-limit", b"%d" % self.verdict.limit),
                (b"x-ratelimit-remaining", b"%d" % self.verdict.remaining),
                (b"x-ratelimit-reset", b"%d" % self.verdict.reset),
            )
        return headers


def _found_below(below: bytes, name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Prefix a Location of the API with the public path."""
    return (name, below + value) if name == b"location" and value.startswith(API) else (name, value)


def _kept_by_the_caller(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of a private response: ``no-store``, unless the caller may store the response.

    With the plugin, an application may set ``cache_control`` for the service's handlers too.
    """
    for name, value in headers:
        if name == b"cache-control":
            # Most private answers are not stored, so compare with that value first.
            if value == NO_STORE[1] or _is_for_one(value.lower()):
                return headers
            break
    else:
        return [*headers, NO_STORE]
    return [*(header for header in headers if header[0] != b"cache-control"), NO_STORE]


def _is_for_one(said: bytes) -> bool:
    """Return whether no shared cache may store an answer with this Cache-Control, in lower case."""
    return b"private" in said or not any(directive in said for directive in OPEN_TO_ALL)
