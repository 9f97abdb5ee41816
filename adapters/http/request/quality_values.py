"""Weights of what a client takes, as ``Accept`` and its relatives say them (RFC 9110, 12.4.2)."""

from collections.abc import Sequence
from operator import itemgetter

from domain.words.languages import language_of

LONGEST = 500
"""Characters of a header that are read: a browser sends some ten languages, five media types and four codings."""


def weights(header: str | None) -> list[tuple[str, float]]:
    """Values of the header in lower case, in their order: ``"gzip;q=0.5, br"`` → [("gzip", 0.5), ("br", 1.0)].

    A weight that is no number is 0, and none is more than 1.
    """
    return [_read(part) for part in (header or "")[:LONGEST].lower().split(",")]


def _read(part: str) -> tuple[str, float]:
    value, *parameters = part.split(";")
    given = [weight.strip() for name, _, weight in (each.partition("=") for each in parameters) if name.strip() == "q"]
    digits = given[0] if given else "1"
    is_weight = digits.isascii() and digits.replace(".", "", 1).isdecimal()
    return value.strip(), min(float(digits), 1.0) if is_weight else 0.0


def chosen_coding(accept_encoding: str | None, offered: Sequence[str]) -> str | None:
    """The first coding of ``offered`` that the client takes; None where it takes none of them.

    Example: ``chosen_coding("gzip, br;q=0", ["br", "gzip"])`` is ``"gzip"``. RFC 9110, 12.5.3.
    """
    weighed = dict(weights(accept_encoding))
    return next((coding for coding in offered if weighed.get(coding, weighed.get("*", 0.0)) > 0), None)


def accepted_language(header: str | None) -> str | None:
    """The best language of an ``Accept-Language`` (RFC 9110, 12.5.4); None without one that has words here.

    ``"fr, de-CH;q=0.8, en;q=0.5"`` is ``"de"``.
    """
    known = [(weight, language) for tag, weight in weights(header) if weight > 0 and (language := language_of(tag))]
    return max(known, key=itemgetter(0))[1] if known else None
