"""Connections to allowed addresses only: the address that is checked is the one that is connected to."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address

import httpcore2

from application.ports.outgoing import NotAnswered
from domain.entities.webhooks.destinations import Address, Network, is_allowed, is_listed

LONGEST_LOOKUP = 3.0
"""Seconds to resolve a name."""

Resolve = Callable[[str], Awaitable[Sequence[Address]]]
"""Return all addresses of a host name; an empty sequence if the name does not exist."""


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Network of one scheme. ``only_listed`` allows only addresses in ``networks``, as for requests without TLS.

    Raises NotAnswered from ``connect_tcp``, before any packet is sent to an address that is not allowed.
    """

    def __init__(self, resolve: Resolve, networks: Sequence[Network], *, only_listed: bool) -> None:
        self._resolve = resolve
        self._networks = networks
        self._only_listed = only_listed
        self._network = httpcore2.AnyIOBackend()

    async def addresses(self, host: str) -> Sequence[Address]:
        """Return the addresses of the host. Raises NotAnswered if there are none, or if any is not allowed."""
        found = await self._addresses(host)
        if not found:
            raise NotAnswered("unresolved")
        # Refuse the host if any address is not allowed: otherwise an attacker could vary which one is used.
        if not all(self._is_allowed(address) for address in found):
            raise NotAnswered("refused")
        return found

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # declared by httpcore2
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception = NotAnswered("unresolved")
        for address in await self.addresses(host):
            try:
                return await self._network.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except httpcore2.NetworkError as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002  # every path is refused
        timeout: float | None = None,  # noqa: ARG002, ASYNC109  # declared by httpcore2
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002  # every path is refused
    ) -> httpcore2.AsyncNetworkStream:
        raise NotAnswered("refused")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)

    async def _addresses(self, host: str) -> Sequence[Address]:
        try:
            return [ip_address(host)]
        except ValueError:
            return await self._resolve(host)

    def _is_allowed(self, address: Address) -> bool:
        return is_listed(address, self._networks) if self._only_listed else is_allowed(address, self._networks)


async def resolve_by_dns(host: str) -> Sequence[Address]:
    """Ask the machine's DNS servers for A and AAAA records, without ``/etc/hosts``.

    Threads of ``getaddrinfo`` would be exhausted by a few tenants with slow names.
    """
    import dns.asyncresolver
    import dns.exception

    try:
        answers = await dns.asyncresolver.resolve_name(host, lifetime=LONGEST_LOOKUP)
    except (dns.exception.DNSException, OSError):
        return ()
    return [ip_address(text) for text in answers.addresses()]
