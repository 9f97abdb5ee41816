"""Address of the client: the socket's, or the one that trusted proxies report."""

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from litestar.types import HTTPScope

from adapters.http.request.quality_values import LONGEST, accepted_language
from domain.limits import network_of
from domain.scope import Client

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

DEVICE_LENGTH = 200
ID_LENGTH = 32
IDS_AT_ONCE = 128

MAPPED = "::ffff:"
"""Prefix of an IPv4 client's address on a socket that listens on ``::`` for IPv6 and IPv4."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")


def read_client(scope: HTTPScope, named: Mapping[bytes, bytes], proxies: tuple[Network, ...]) -> Client:
    peer = scope.get("client")
    address = peer[0].removeprefix(MAPPED) if peer else "unknown"
    if proxies:
        address = forwarded_address(address, scope["headers"], proxies)
    return Client(
        address=address,
        network=network_of(address),
        device=_device(named.get(b"user-agent", b"")),
        request_id=_request_id(named.get(b"x-request-id")),
        language=_language(named.get(b"accept-language", b"")),
    )


@lru_cache(maxsize=256)
def _language(header: bytes) -> str:
    # Most values are cached. Cut longer headers before caching.
    return accepted_language(header[:LONGEST].decode("latin-1")) or ""


def _device(user_agent: bytes) -> str:
    text = user_agent[:DEVICE_LENGTH].decode("latin-1")
    if not text.isprintable():
        text = "".join(char for char in text if char.isprintable())
    return text.strip()


def _request_id(given: bytes | None) -> str:
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given.decode("ascii")
    return _new_id()


def _new_id() -> str:
    """128 random bits, requested for many ids at once: the system call costs most."""
    if not _unused_ids:
        digits = os.urandom(IDS_AT_ONCE * ID_LENGTH // 2).hex()
        _unused_ids.extend(digits[at : at + ID_LENGTH] for at in range(0, len(digits), ID_LENGTH))
    return _unused_ids.pop()


_unused_ids: list[str] = []
# Otherwise a forked process would repeat its parent's ids.
os.register_at_fork(after_in_child=_unused_ids.clear)


def forwarded_address(peer: str, headers: Iterable[tuple[bytes, bytes]], proxies: tuple[Network, ...]) -> str:
    """Return the right-most address of an untrusted host, because a client can forge every address left of it."""
    lines = [value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for"]
    hops = [hop for line in lines for hop in line.split(",")]
    nearest = peer
    while hops and _is_trusted(nearest, proxies):
        further = _address(hops.pop())
        if further is None:
            return nearest
        nearest = str(further)
    return nearest


def _is_trusted(address: str, proxies: tuple[Network, ...]) -> bool:
    parsed = _address(address)
    return parsed is not None and any(parsed in network for network in proxies)


def _address(hop: str) -> Address | None:
    text = hop.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
