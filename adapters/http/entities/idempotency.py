"""Who writes, where, and whether it is a request that came before."""

import hashlib

from adapters.http.request.endpoint import Call, Headers, Parameter
from application.entities.writing import IdempotencyKey, Write
from domain.errors import BadRequest

LONGEST_KEY = 255
KEY = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
    "The same key and body within 24 hours get the first answer again, and `Idempotent-Replayed: true`.",
    "header",
)
REPLAYED: Headers = ((b"idempotent-replayed", b"true"),)


def write_of(call: Call) -> Write:
    return Write(caller=call.signed_in, scope=call.tenant, idempotency_key=_once(call))


def _once(call: Call) -> IdempotencyKey | None:
    given = call.headers.get(b"idempotency-key")
    if given is None or call.method != "POST":
        return None
    if not (0 < len(given) <= LONGEST_KEY and given.isascii() and given.decode("ascii").isprintable()):
        raise BadRequest(f"Idempotency-Key takes 1 to {LONGEST_KEY} visible ASCII characters.")
    asked = b"\n".join((call.path.encode(), call.query_string, call.body or b""))
    return IdempotencyKey(given.decode("ascii"), hashlib.sha256(asked).hexdigest())


def replayed(is_replayed: bool) -> Headers:
    return REPLAYED if is_replayed else ()
