"""Whether a host is this machine."""

from ipaddress import ip_address


def is_this_machine(host: str | None) -> bool:
    """Return whether data sent to the host stays on this machine. The host None means a Unix socket."""
    if host is None or f".{host.lower()}".endswith(".localhost"):  # RFC 6761
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
