"""The input gate: nothing gets past it that is too large, not JSON, or JSON only to some readers."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from decimal import Decimal
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from domain.errors import BadRequest, PayloadTooLarge, UnsupportedMediaType

KILOBYTE = 1024
IDENTITY_BODY = 16 * KILOBYTE
ENTITY_BODY = 1024 * KILOBYTE
BATCH_BODY = 8 * 1024 * KILOBYTE
DEPTH = 32
PARAMETERS = 200
PATIENCE = 10.0  # seconds for a body to come, and one more for every SLOWEST bytes of it
SLOWEST = 16 * KILOBYTE
STALLED = 30.0  # seconds for its next piece, however much has come
LONGEST_INTEGER = 19  # digits that always fit 64 bits; longer ones become decimals, which no integer field takes

EMPTY = b""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientGone(Exception):
    """Nobody is left to answer."""


class TooSlow(ClientGone):
    """The body does not come: who dribbles it holds a connection, and is not waited for."""


class Arriving:
    """A body on its way, whose pieces are waited for as long as it comes at a bearable pace."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._now = asyncio.get_running_loop().time
        self._late_at = self._now() + PATIENCE

    async def next(self) -> tuple[bytes, bool]:
        """The next piece, and whether more follow; raises ClientGone."""
        try:
            async with asyncio.timeout_at(min(self._late_at, self._now() + STALLED)):
                message = await self._receive()
        except TimeoutError:
            raise TooSlow from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece: bytes = message.get("body", b"")
        self._late_at += len(piece) / SLOWEST
        return piece, message.get("more_body", False)


def ensure_json(content_type: bytes | None) -> None:
    """``application/json``, in UTF-8 where a charset is named; what only ends in ``+json`` is something else."""
    if content_type == b"application/json":
        return
    kind, *parameters = (content_type or b"").decode("latin-1").lower().split(";")
    if kind.strip() != "application/json":
        raise UnsupportedMediaType("Send the body as application/json.")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') not in ("utf-8", "utf8"):
            raise UnsupportedMediaType("Send the body in UTF-8.")


def declared_length(content_length: bytes | None) -> int:
    """0 when nothing usable is said: what really comes is counted anyway."""
    if not content_length or not content_length.isdigit():
        return 0
    return int(content_length[:16])


async def read_body(receive: Receive, largest: int) -> bytes:
    """Raises PayloadTooLarge as soon as it is seen, and keeps nothing of it."""
    arriving = Arriving(receive)
    pieces: list[bytes] = []
    size = 0
    while True:
        piece, is_more = await arriving.next()
        size += len(piece)
        if size > largest:
            raise too_large(largest)
        pieces.append(piece)
        if not is_more:
            return b"".join(pieces)


def too_large(largest: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body may have {largest // KILOBYTE} kB at most.")


def read_object(body: bytes, decimals: bool) -> dict[str, object]:
    value = read_json(body, decimals)
    if not isinstance(value, dict):
        raise BadRequest("The body must be a JSON object.")
    return value


def read_json(body: bytes, decimals: bool) -> object:
    """JSON that all readers understand alike; raises BadRequest for anything else."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("The body is not valid UTF-8.") from None
    try:
        value: object = (_EXACT if decimals else _PLAIN).decode(text)
    except (json.JSONDecodeError, ArithmeticError, RecursionError):
        raise BadRequest("The body is not valid JSON.") from None
    if text.count("[") + text.count("{") > DEPTH:
        _ensure_shallow(value)
    if "\\u" in text:
        _ensure_text(value)
    return value


def _ensure_shallow(value: object) -> None:
    level = [value]
    for _ in range(DEPTH + 1):
        if not level:
            return
        level = [item for one in level for item in _items(one) if isinstance(item, (dict, list))]
    raise BadRequest(f"The body is nested deeper than {DEPTH} levels.")


def _items(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _ensure_text(value: object) -> None:
    """Escapes can spell what is no text: NUL, and halves of characters."""
    if isinstance(value, str):
        ensure_storable(value)
    elif isinstance(value, dict):
        for name, item in value.items():
            _ensure_text(name)
            _ensure_text(item)
    elif isinstance(value, list):
        for item in value:
            _ensure_text(item)


def ensure_storable(text: str) -> None:
    if "\x00" in text:
        raise BadRequest("NUL is not taken in text.")
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise BadRequest("Half of a surrogate pair is not taken in text.")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BadRequest("A name stands twice in one JSON object.")
    return members


def _no_number(_: str) -> NoReturn:
    raise BadRequest("NaN and Infinity are not JSON.")


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= LONGEST_INTEGER else Decimal(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise BadRequest("A number is out of range.")
    return number


def _plain_integer(digits: str) -> int:
    """Nothing here is exact beyond 64 bits, and nothing is rounded silently."""
    number = int(digits) if len(digits) <= LONGEST_INTEGER + 1 else 2**63
    if not -(2**63) <= number < 2**63:
        raise BadRequest("A whole number does not fit 64 bits.")
    return number


_EXACT = json.JSONDecoder(object_pairs_hook=_unique, parse_float=Decimal, parse_int=_integer, parse_constant=_no_number)
_PLAIN = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_fraction, parse_int=_plain_integer, parse_constant=_no_number
)


def read_parameters(query_string: bytes) -> tuple[tuple[str, str], ...]:
    """The decoded pairs, in order; what is no UTF-8 is refused, not replaced."""
    try:
        pairs = parse_qsl(
            query_string.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS
        )
    except UnicodeDecodeError:
        raise BadRequest("The query string is not valid UTF-8.") from None
    except ValueError:
        raise BadRequest(f"The query string may hold {PARAMETERS} parameters at most.") from None
    if "%00" in (text := query_string.decode("utf-8")) or "\x00" in text:
        raise BadRequest("NUL is not taken in text.")
    return tuple(pairs)
