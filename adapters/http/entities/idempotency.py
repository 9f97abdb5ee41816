"""Writes with an ``Idempotency-Key``: the caller, the tenant, and whether the request is a repetition."""

import hashlib

from litestar.datastructures import ResponseHeader

from adapters.http.request.rules import Parameter
from adapters.http.request.strict_request import StrictRequest
from application.entities.writing import IdempotencyKey, Write
from domain.errors import BadRequest, Forbidden
from domain.scope import OneTenant, Scope

LONGEST_KEY = 255
KEY = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[ -~]+$"},
    "The same key and body within 24 hours get the first answer again, and `Idempotent-Replayed: true`.",
    "header",
)
REPLAYED = ResponseHeader(
    name="Idempotent-Replayed",
    description="`true` where the request came before under its `Idempotency-Key`.",
    documentation_only=True,
)


def write_of(request: StrictRequest, scope: Scope, body: bytes = b"") -> Write:
    """Return the write of a request; ``body`` (or its digest) distinguishes different requests with the same key."""
    # The pipeline has refused several tenants before.
    if not isinstance(scope, OneTenant):
        raise Forbidden
    return Write(caller=request.caller, scope=scope, idempotency_key=_key(request, body))


def _key(request: StrictRequest, body: bytes) -> IdempotencyKey | None:
    given = request.header(b"idempotency-key")
    if given is None or request.method != "POST":
        return None
    if not (0 < len(given) <= LONGEST_KEY and given.isascii() and given.isprintable()):
        raise BadRequest(f"Idempotency-Key must have 1 to {LONGEST_KEY} printable ASCII characters.")
    path = "/" + request.scope["path"].strip("/")
    asked = b"\n".join((path.encode(), request.scope["query_string"], body))
    return IdempotencyKey(given, hashlib.sha256(asked).hexdigest())


def replayed(is_replayed: bool) -> dict[str, str]:
    """Return the header that marks a stored response; a new response has no such header."""
    return {"idempotent-replayed": "true"} if is_replayed else {}
