"""URLs and addresses that the service may send requests to."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from msgspec import Struct

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LONGEST_URL = 2_000

_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""A last label that browsers and C libraries read as an IPv4 address: ``127.1``, ``0x7f000001``."""

_PORTS = {"https": 443, "http": 80}

_EMBEDDED = ip_network("64:ff9b::/96")
"""NAT64: the last 32 bits are an IPv4 address."""

_GLOBAL_UNICAST = ip_network("2000::/3")

# Reserved ranges that Python 3.11 counts as global.
_REFUSED: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments, such as the metadata of Oracle Cloud
        "192.88.99.0/24",  # former relays of 6to4
        "168.63.129.16/32",  # the host of a machine in Azure
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
    )
)


class Destination(Struct, frozen=True):
    """Parts of a URL. ``host`` is a name in lower case or an address without brackets; ``target`` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Value of the header ``Host``: the port is omitted if it is the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def read_destination(url: str) -> Destination:
    """Return the destination of a URL. Raises ValueError with the reason for any other URL than http(s) with a host.

    The port is 443 (80 for http) or at least 1024. User info, fragments and hosts in unusual notations are refused.
    """
    if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise ValueError(f"must be a URL of at most {LONGEST_URL} ASCII characters without spaces and backslashes")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("must be a URL such as https://example.com/hooks") from None
    if parts.scheme not in _PORTS or not parts.netloc:
        raise ValueError("must be a URL that begins with https://")
    if "@" in parts.netloc or "#" in url:
        raise ValueError("must be a URL without user info and without a fragment")
    port = _PORTS[parts.scheme] if port is None else port
    # Lower ports belong to services such as SSH and SMTP, which could read a request as commands.
    if port != _PORTS[parts.scheme] and port < 1024:
        raise ValueError("must have port 443, or a port of 1024 and above")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = (parts.hostname or "").lower()
    return Destination(parts.scheme, _canonical(host) if "[" in parts.netloc else _host(host), port, target)


def _host(text: str) -> str:
    if _NUMBER.fullmatch(text.rpartition(".")[2]):
        return _canonical(text)
    if len(text) > 253 or _HOST.fullmatch(text) is None:
        raise ValueError("must have a host name in ASCII without a dot at its end, such as example.com")
    return text


def _canonical(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        raise ValueError("must have a host name, or an address in the usual notation") from None
    # A zone (fe80::1%eth0) is local to a machine.
    if "%" in text:
        raise ValueError("must have an address without a zone")
    return str(address)


def is_allowed(address: Address, networks: Iterable[Network]) -> bool:
    """Return whether the service may connect to the address: one of the networks, or global unicast.

    IPv4 addresses in IPv6 addresses, by mapping, 6to4 or NAT64, count as IPv4 addresses.
    """
    inner = _unwrapped(address)
    return is_listed(address, networks) or (
        inner.is_global
        and not (inner.is_multicast or inner.is_reserved)
        and not any(inner in network for network in _REFUSED)
        and (isinstance(inner, IPv4Address) or inner in _GLOBAL_UNICAST)
    )


def is_listed(address: Address, networks: Iterable[Network]) -> bool:
    """Return whether one of the networks contains the address."""
    inner = _unwrapped(address)
    return any(inner in network for network in networks)


def _unwrapped(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    embedded = IPv4Address(int(address) & 0xFFFF_FFFF) if address in _EMBEDDED else None
    return address.ipv4_mapped or address.sixtofour or embedded or address
