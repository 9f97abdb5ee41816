"""Detection of requests from this machine, which may see some pages without a token."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from adapters.http.request.strict_request import StrictRequest
from domain.errors import NotFound

# Refuse requests with these headers: through a proxy, every client appears to be on this machine.
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
    """Raise NotFound for requests from elsewhere or through a proxy."""
    is_forwarded = any(request.header(name) is not None for name in FORWARDED)
    address = _address(request.from_client.address)
    if is_forwarded or address is None or not address.is_loopback:
        raise NotFound


def ensure_named_as_this_machine(request: StrictRequest) -> None:
    """Raise NotFound unless the request's ``Host`` is an address, ``localhost`` or a subdomain of ``localhost``."""
    # Security: a page of another site can resolve its own host name to this machine and read the response (DNS
    # rebinding).
    host = (request.header(b"host") or "").lower()
    name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
    if name != "localhost" and not name.endswith(".localhost") and _address(name.strip("[]")) is None:
        raise NotFound


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
