"""The ``send`` behind the pipeline: headers of every response, and what its body and HEAD ask for."""

from collections.abc import Sequence

from litestar.types import Message, Send

from adapters.http.request.body import BodyReader
from adapters.http.request.rules import Rules
from domain.limits import Hit, Verdict
from domain.scope import Client

HSTS = (b"strict-transport-security", b"max-age=31536000")
"""Keeps browsers from asking this host without encryption for a year; subdomains may belong to others."""
NO_STORE = (b"cache-control", b"no-store")
API = b"/api/"
OPEN_TO_ALL = (b"public", b"s-maxage", b"must-revalidate")
"""Directives that let shared caches store the answer to a request with a token: RFC 9111, section 3.5."""


class Outgoing:
    """The ``send`` of everything behind the pipeline: adds the headers of every response, takes the body from HEAD."""

    __slots__ = ("_below", "_client", "_is_head", "_is_https", "_send", "body", "counted", "rules", "status", "verdict")

    def __init__(
        self, body: BodyReader, client: Client, method: str, send: Send, *, is_https: bool, below: bytes
    ) -> None:
        self.body, self._client, self._send = body, client, send
        self._is_head, self._is_https, self._below = method == "HEAD", is_https, below
        self.status = 0
        self.rules: Rules | None = None
        self.verdict: Verdict | None = None
        self.counted: Sequence[Hit] = ()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            rules, given, own = self.rules, message["headers"], self._headers()
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
            message["headers"] = headers
        elif self._is_head and message["type"] == "http.response.body":
            message["body"] = b""
        await self._send(message)

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
