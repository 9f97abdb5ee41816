"""Redirect addresses of a login: the registrable ones, and the proof of the login's initiator (PKCE)."""

import hmac
import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

LONGEST_ADDRESS = 500
MOST_ADDRESSES = 20
LONGEST_STATE = 1_000
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1"})

# URL characters (RFC 3986) without "#"; a browser reads a backslash as a slash.
_SIGNS = re.compile(r"[A-Za-z0-9\-._~:/?@!$&'()*+,;=%\[\]]+")
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9\-._~]{43,128}")


def redirect_mistake(address: str) -> str | None:
    """Return the error of a redirect address to register, or None for a valid address.

    Example: ``https://shop.example/signed-in`` and ``http://localhost:3000/`` are valid.
    """
    if len(address) > LONGEST_ADDRESS or _SIGNS.fullmatch(address) is None:
        return f"accepts addresses of at most {LONGEST_ADDRESS} letters, digits and URL characters, without a fragment"
    parts = _parts(address)
    host = None if parts is None else _host(parts.netloc)
    if parts is None or host is None:
        return "must be https:// or http:// and a host in lower case, optionally with a port, without a user name"
    if parts.scheme != "https" and (parts.scheme != "http" or host not in LOCAL_HOSTS):
        return "must be https; only localhost and 127.0.0.1 may use http"
    if any(step in (".", "..") for step in unquote(parts.path).split("/")):
        return "must be a path without . and .. segments, because browsers remove them"
    if {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)} & {"code", "state"}:
        return "must not have parameters called code or state: the response adds them"
    return None


def _parts(address: str) -> SplitResult | None:
    """None for a scheme in capitals or brackets without an IPv6 address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    # urlsplit lowercases the scheme, but later comparisons use the original text.
    return parts if address.startswith(f"{parts.scheme}://") else None


def _host(authority: str) -> str | None:
    """Return the host of ``host`` or ``host:port``, or None if the text is invalid."""
    found = re.fullmatch(r"(.*?)(?::([0-9]{1,5}))?", authority)
    if found is None:  # the text contains a line break
        return None
    host, port = found.groups()
    is_port = port is None or 0 < int(port) < 65_536
    return host if is_port and _HOST.fullmatch(host) else None


def answered(address: str, code: str, state: str | None) -> str:
    """Return the address with ``code`` and ``state`` in its query."""
    query = urlencode({"code": code, **({} if state is None else {"state": state})})
    return f"{address}{'&' if '?' in address else '?'}{query}"


def is_challenge(text: str) -> bool:
    """Return whether the text has the form of an S256 challenge (RFC 7636): 43 characters of base64url."""
    return _CHALLENGE.fullmatch(text) is not None


def is_answer(verifier: str, challenge: str) -> bool:
    """Return whether the verifier matches the S256 challenge. The service does not support the plain method."""
    if _VERIFIER.fullmatch(verifier) is None:
        return False
    return hmac.compare_digest(challenge_of(verifier), challenge)


def challenge_of(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode("ascii")).digest()).rstrip(b"=").decode("ascii")
