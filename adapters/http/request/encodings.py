"""Content codings that a client takes, as its `Accept-Encoding` says."""

from collections.abc import Sequence


def chosen_coding(accept_encoding: str | None, offered: Sequence[str]) -> str | None:
    """The first coding of ``offered`` that the client takes; None where it takes none of them.

    Example: ``chosen_coding("gzip, br;q=0", ["br", "gzip"])`` is ``"gzip"``. RFC 9110, 12.5.3.
    """
    weights = dict(_read(part) for part in (accept_encoding or "").lower().split(","))
    return next((coding for coding in offered if weights.get(coding, weights.get("*", 0.0)) > 0), None)


def _read(part: str) -> tuple[str, float]:
    """``gzip;q=0.5`` → ("gzip", 0.5); a weight that is no number counts as none."""
    coding, _, parameter = part.partition(";")
    name, _, weight = parameter.replace(" ", "").partition("=")
    try:
        return coding.strip(), float(weight) if name == "q" else 1.0
    except ValueError:
        return coding.strip(), 0.0
