"""Requests that come from this machine: what an operator or a developer may see without a token."""

from ipaddress import ip_address

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
    if is_forwarded or not _is_this_machine(request.from_client.address):
        raise NotFound


def _is_this_machine(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
