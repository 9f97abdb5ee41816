"""Weights in ``Accept`` and similar headers (RFC 9110, 12.4.2)."""

from collections.abc import Sequence
from operator import itemgetter

from domain.words.languages import language_of

LONGEST = 500
"""Maximum number of header characters read: a browser sends some ten languages, five media types and four codings."""


def weights(header: str | None) -> list[tuple[str, float]]:
    """Return the header's values in lower case, in order: ``"gzip;q=0.5, br"`` → [("gzip", 0.5), ("br", 1.0)].

    Invalid weights are 0; the maximum is 1.
    """
    return [_read(part) for part in (header or "")[:LONGEST].lower().split(",")]


def _read(part: str) -> tuple[str, float]:
    value, *parameters = part.split(";")
    given = [weight.strip() for name, _, weight in (each.partition("=") for each in parameters) if name.strip() == "q"]
    digits = given[0] if given else "1"
    is_weight = digits.isascii() and digits.replace(".", "", 1).isdecimal()
    return value.strip(), min(float(digits), 1.0) if is_weight else 0.0


def chosen_coding(accept_encoding: str | None, offered: Sequence[str]) -> str | None:
    """Return the first coding of ``offered`` that the client accepts, or None (RFC 9110, 12.5.3).

    Example: ``chosen_coding("gzip, br;q=0", ["br", "gzip"])`` is ``"gzip"``.
    """
    weighed = dict(weights(accept_encoding))
    return next((coding for coding in offered if weighed.get(coding, weighed.get("*", 0.0)) > 0), None)


def accepted_language(header: str | None) -> str | None:
    """Return the best supported language of ``Accept-Language`` (RFC 9110, 12.5.4), or None.

    ``"fr, de-CH;q=0.8, en;q=0.5"`` is ``"de"``.
    """
    known = [(weight, language) for tag, weight in weights(header) if weight > 0 and (language := language_of(tag))]
    return max(known, key=itemgetter(0))[1] if known else None
