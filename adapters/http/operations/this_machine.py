"""Requests that come from this machine: what an operator or a developer may see without a token."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from adapters.http.request.strict_request import StrictRequest
from domain.errors import NotFound

# through a proxy anybody seems to be this machine
FORWARDED = (
    b"forwarded",
    b"via",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"x-real-ip",
    b"x-client-ip",
    b"true-client-ip",
    b"cf-connecting-ip",
)


def ensure_from_this_machine(request: StrictRequest) -> None:
    """Raises NotFound for requests from elsewhere, and for those that came through a proxy."""
    is_forwarded = any(request.header(name) is not None for name in FORWARDED)
    address = _address(request.from_client.address)
    if is_forwarded or address is None or not address.is_loopback:
        raise NotFound


def ensure_named_as_this_machine(request: StrictRequest) -> None:
    """Raises NotFound unless the request's ``Host`` is an address, ``localhost`` or a name below it."""
    # Security: a browser here may ask for a page of elsewhere whose name has become this machine's address (DNS
    # rebinding), and let that page read the answer. Such a name is none of these.
    host = (request.header(b"host") or "").lower()
    name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
    if name != "localhost" and not name.endswith(".localhost") and _address(name.strip("[]")) is None:
        raise NotFound


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
