"""`OutgoingRequests` over HTTP/1.1, with limits of time and size, and without redirects, proxies and cookies."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from application.ports.outgoing import NotAnswered, Reply
from domain.entities.webhooks.destinations import Destination, Network, read_destination

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpcore2

    from adapters.outgoing.network import CheckedNetwork, Resolve

READ_AT_MOST = 16 * 1024
"""Bytes of a response's body that are read, and forgotten, so that its connection can be used again."""

BODY_SECONDS = 1.0
"""Time for the body after the status."""

IDLE_SECONDS = 15.0
"""Time that an idle connection stays open for further requests to the same host."""

IDLE_CONNECTIONS = 100


class TimeLimits(Struct, frozen=True):
    """Seconds for the connection, and for the whole request."""

    connect: float = 3.0
    total: float = 10.0


USUAL = TimeLimits()


class CheckedRequests:
    """Requests over a shared pool of connections.

    ``networks`` are private networks that are allowed, and http for these only. ``trusted`` replaces the usual
    certificate authorities, and ``resolve`` the machine's DNS servers.
    """

    def __init__(
        self,
        networks: Sequence[Network],
        limits: TimeLimits = USUAL,
        resolve: "Resolve | None" = None,
        trusted: "SSLContext | None" = None,
    ) -> None:
        self._networks = networks
        self._limits = limits
        self._resolve = resolve
        self._trusted = trusted

    async def ensure_allowed(self, url: str) -> None:
        destination = _destination(url)
        try:
            async with asyncio.timeout(self._limits.connect):
                await self._network(destination).addresses(destination.host)
        except TimeoutError:
            raise NotAnswered("unresolved") from None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        import httpcore2

        destination = _destination(url)
        try:
            async with asyncio.timeout(self._limits.total):
                return await self._answer(destination, headers, body)
        except (TimeoutError, httpcore2.TimeoutException):
            raise NotAnswered("timeout") from None
        except httpcore2.NetworkError:
            raise NotAnswered("unreachable") from None
        except (httpcore2.ProtocolError, httpcore2.UnsupportedProtocol):
            raise NotAnswered("protocol") from None

    async def _answer(self, destination: Destination, headers: Mapping[str, str], body: bytes) -> Reply:
        import httpcore2

        # Security: build the URL from the parts that were checked, so that no second parser reads it differently.
        parts = (destination.scheme.encode(), destination.host.encode(), destination.port, destination.target.encode())
        url = httpcore2.URL(scheme=parts[0], host=parts[1], port=parts[2], target=parts[3])
        sent = {"Host": destination.authority, "Content-Length": str(len(body)), **headers}
        limits = {"timeout": {"connect": self._limits.connect}}
        pool = self._pools[destination.scheme]
        async with pool.stream("POST", url, headers=[*sent.items()], content=body, extensions=limits) as response:
            await _skip_body(response)
            after = next((value for name, value in response.headers if name.lower() == b"retry-after"), None)
            return Reply(response.status, None if after is None else after.decode("latin-1"))

    async def close(self) -> None:
        if "_pools" in vars(self):
            for pool in self._pools.values():
                await pool.aclose()

    def _network(self, destination: Destination) -> "CheckedNetwork":
        return self._networks_by_scheme[destination.scheme]

    @cached_property
    def _networks_by_scheme(self) -> "Mapping[str, CheckedNetwork]":
        # Import late: a service without webhooks needs neither httpcore2 nor dnspython.
        from adapters.outgoing.network import CheckedNetwork, resolve_by_dns

        resolve = self._resolve or resolve_by_dns
        return {
            scheme: CheckedNetwork(resolve, self._networks, only_listed=scheme == "http")
            for scheme in ("https", "http")
        }

    @cached_property
    def _pools(self) -> "Mapping[str, httpcore2.AsyncConnectionPool]":
        import httpcore2

        trusted = self._trusted or httpcore2.default_ssl_context()
        return {
            scheme: httpcore2.AsyncConnectionPool(
                ssl_context=trusted,
                max_connections=None,
                max_keepalive_connections=IDLE_CONNECTIONS,
                keepalive_expiry=IDLE_SECONDS,
                network_backend=network,
            )
            for scheme, network in self._networks_by_scheme.items()
        }


def _destination(url: str) -> Destination:
    try:
        return read_destination(url)
    except ValueError:
        raise NotAnswered("refused") from None


async def _skip_body(response: "httpcore2.Response") -> None:
    """Read and forget a short body. The status decides, so an error or a long body only closes the connection."""
    import httpcore2

    read = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in response.aiter_stream():
                read += len(piece)
                if read > READ_AT_MOST:
                    return
    except (TimeoutError, httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError):
        return
