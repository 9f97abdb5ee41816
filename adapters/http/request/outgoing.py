"""The ``send`` behind the pipeline: headers of every response, large bodies at the client's pace, and none for HEAD."""

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
"""Keeps browsers from asking this host without encryption for a year; subdomains may belong to others."""
NO_STORE = (b"cache-control", b"no-store")
API = b"/api/"
OPEN_TO_ALL = (b"public", b"s-maxage", b"must-revalidate")
"""Directives that let shared caches store the answer to a request with a token: RFC 9111, section 3.5."""

PIECE = 256 * 1024
"""Bytes of an answer that are handed to the server at a time; a longer one is a large answer."""
LARGE_OF_A_TENANT = 256 * 1024 * 1024
LARGE_OF_ALL = 512 * 1024 * 1024
READ_WITHIN = 5
"""Seconds after which a large answer that was refused may be asked for again."""


@dataclass(eq=False, slots=True)
class LargeAnswers:
    """Bytes of large answers that wait for their clients to read them, by the tenant that has asked.

    Their memory is the process's: a tenant has at most ``of_a_tenant``, or one answer where all have ``of_all``.
    """

    of_a_tenant: int = LARGE_OF_A_TENANT
    of_all: int = LARGE_OF_ALL
    total: int = 0
    _held: dict[UUID, int] = field(default_factory=dict)

    def take(self, asked_by: UUID, size: int, *, may_refuse: bool) -> None:
        """Raises RateLimited."""
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
    """The ``send`` of everything behind the pipeline: adds the headers of every response, takes the body from HEAD.

    A large answer is sent in pieces at the client's pace, with a lowest one; its bytes count for ``large`` until
    ``end``, which the pipeline calls when the request has ended. An answer that finds no room is dropped, with its
    ``refusal``, which is answered instead: behind Litestar, where no answer has begun.
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
        """Headers of the response with those that all responses have."""
        rules, own = self.rules, self._headers()
        if rules is not None and rules.is_cached:
            # a response that was stored has those of the request that it was made for
            given = [header for header in given if header[0] not in dict(own)]
        headers = [*given, *own]
        if self._below:
            headers = [_found_below(self._below, name, value) for name, value in headers]
        # Errors too: they may name what only this caller may know.
        if rules is not None and rules.is_private:
            headers = _kept_by_the_caller(headers)
        if self.body.left and not await self.body.drain():
            headers.append((b"connection", b"close"))
        return headers

    def _has_room(self, message: Message) -> bool:
        """Counts a large answer as it begins; a read is refused without room, what was written is always told."""
        if message["type"] != "http.response.start" or self.large is None or self._is_head:
            return True
        size = next((int(value) for name, value in message["headers"] if name == b"content-length"), 0)
        # What is sent to strangers are files that all of them share.
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
    """The header; a Location of the API gets the path of the public address, below which the client finds it."""
    return (name, below + value) if name == b"location" and value.startswith(API) else (name, value)


def _kept_by_the_caller(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers of a private response, which says ``no-store`` unless it lets the caller alone keep it.

    An application with the plugin may have a ``cache_control`` for all of its handlers, ours among them.
    """
    said = next((value.lower() for name, value in headers if name == b"cache-control"), None)
    if said is not None and (b"private" in said or not any(directive in said for directive in OPEN_TO_ALL)):
        return headers
    return [*(header for header in headers if header[0] != b"cache-control"), NO_STORE]
