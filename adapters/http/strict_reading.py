"""Strict parsing of request bodies and query strings. It accepts only unambiguous text."""

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NoReturn
from urllib.parse import parse_qsl

import msgspec

from domain.errors import BadRequest, UnsupportedMediaType

PARAMETERS = 200
DEPTH = 32
MOST_VALUES = 100_000
"""Members, items and strings of a body, or of one item of a batch: reading them holds the event loop for 50 ms."""
MOST_CONTAINERS = 30_000
LONGEST_INTEGER = 19  # digits that fit 64 bits; longer numbers become decimals, refused by integer fields


def read_object(body: bytes, decimals: bool) -> dict[str, object]:
    value = read_json(body, decimals)
    if not isinstance(value, dict):
        raise BadRequest("The body must be a JSON object.")
    return value


def read_json(body: bytes, decimals: bool) -> object:
    """Parse unambiguous JSON. Raises BadRequest for other text."""
    text = decode(body)
    _ensure_countable(text)
    if decimals and (quick := read_quickly(body, text)) is not None:
        return quick
    return read_strictly(text, decimals)


def decode(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRequest("The body is not valid UTF-8.") from None


def _ensure_countable(text: str) -> None:
    """Refuse, before parsing, a text with so many values that it would need a long time to parse."""
    if _fits(text):
        return
    if text.count('"') > 4 * MOST_VALUES or not _fits(_STRING.sub("", text)):
        raise BadRequest(f"The body has over {MOST_VALUES:,} values, or over {MOST_CONTAINERS:,} objects and lists.")


def _fits(text: str) -> bool:
    return text.count(",") <= MOST_VALUES and text.count("{") + text.count("[") <= MOST_CONTAINERS


def read_quickly(body: bytes, text: str) -> object:
    """Return the parsed JSON, if it surely equals the strict reader's result; otherwise None.

    The fast reader needs a third of the time, but accepts duplicate names. If the text has as many colons as members,
    no name is duplicate.
    """
    if "\\" in text:
        return None
    try:
        value = _QUICK.decode(body)
    except (msgspec.DecodeError, ArithmeticError, RecursionError):
        return None
    return value if _members(value) == text.count(":") else None


def _members(value: object) -> int | None:
    """Return the number of members of all objects; None if the depth or an integer requires the strict reader."""
    members, level = 0, list[Any]([[value]])
    for _ in range(DEPTH + 1):
        items = [item for container in level for item in _items(container)]
        if any(type(item) is int and not -_LONG < item < _LONG for item in items):
            return None
        members += sum(len(container) for container in level if type(container) is dict)
        level = [item for item in items if type(item) in _CONTAINERS]
        if not level:
            return members
    return None


def read_strictly(text: str, decimals: bool) -> object:
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
        level = [item for container in level for item in _items(container) if isinstance(item, (dict, list))]
    raise BadRequest(f"The body is nested deeper than {DEPTH} levels.")


def _items(value: object) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _ensure_text(value: object) -> None:
    """Refuse NUL and lone surrogates."""
    if isinstance(value, str):
        ensure_storable(value)
    elif isinstance(value, dict):
        for name, item in value.items():
            _ensure_text(name)
            _ensure_text(item)
    elif isinstance(value, list):
        for item in value:
            _ensure_text(item)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BadRequest("A JSON object contains a name twice.")
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
    """Refuse integers beyond 64 bits, because the reader would silently round them."""
    number = int(digits) if len(digits) <= LONGEST_INTEGER + 1 else 2**63
    if not -(2**63) <= number < 2**63:
        raise BadRequest("A whole number does not fit 64 bits.")
    return number


_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # an unclosed string too: linear time
_CONTAINERS = (dict, list)
_QUICK = msgspec.json.Decoder(float_hook=Decimal)
_LONG = 10 ** (LONGEST_INTEGER - 1)
_EXACT = json.JSONDecoder(object_pairs_hook=_unique, parse_float=Decimal, parse_int=_integer, parse_constant=_no_number)
_PLAIN = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_fraction, parse_int=_plain_integer, parse_constant=_no_number
)


def ensure_json(content_type: bytes | None) -> None:
    """Require ``application/json``, in UTF-8 if a charset is named; a type that only ends in ``+json`` is refused."""
    if content_type == b"application/json":
        return
    kind, *parameters = (content_type or b"").decode("latin-1").lower().split(";")
    if kind.strip() != "application/json":
        raise UnsupportedMediaType("Send the body as application/json.")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') not in ("utf-8", "utf8"):
            raise UnsupportedMediaType("Send the body in UTF-8.")


def ensure_plain(content_encoding: str | None) -> None:
    """Refuse content codings such as gzip: the service does not decode bodies."""
    if content_encoding and content_encoding.strip().lower() != "identity":
        raise UnsupportedMediaType("Send the body without a Content-Encoding.")


def ensure_storable(text: str) -> None:
    if "\x00" in text:
        raise BadRequest("NUL is not taken in text.")
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise BadRequest("Half of a surrogate pair is not taken in text.")


def read_parameters(query_string: bytes) -> tuple[tuple[str, str], ...]:
    """Return the decoded pairs, in order; refuse invalid UTF-8."""
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
