"""Languages of pages and mails, and which of them somebody reads."""

LANGUAGES = ("en", "de")
"""Languages that have their words here, the one for everybody else first."""

RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})
LONGEST_HEADER = 500


def language_of(tag: str | None) -> str | None:
    """Language of a tag (RFC 5646) that has words here: ``"de-AT"`` is ``"de"``, ``"fr"`` is None."""
    primary = (tag or "").strip().replace("_", "-").partition("-")[0].lower()
    return primary if primary in LANGUAGES else None


def accepted_language(header: str | None) -> str | None:
    """The best language of an ``Accept-Language`` (RFC 9110, 12.5.4); None without one that has words here.

    ``"fr, de-CH;q=0.8, en;q=0.5"`` is ``"de"``. A weight that cannot be read takes its language out.
    """
    best, heaviest = None, 0.0
    # Browsers send some ten languages: a header that is longer is cut.
    for part in (header or "")[:LONGEST_HEADER].split(","):
        tag, _, weight = part.partition(";")
        language, heaviness = language_of(tag), _weight(weight)
        if language is not None and heaviness > heaviest:
            best, heaviest = language, heaviness
    return best


def chosen_language(*wanted: str | None) -> str:
    """The first of the languages that is one of ``LANGUAGES``, else English."""
    return next((language for tag in wanted if (language := language_of(tag))), LANGUAGES[0])


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    if not name:
        return 1.0
    digits = value.strip()
    is_weight = name.strip() == "q" and digits.replace(".", "", 1).isascii() and digits.replace(".", "", 1).isdigit()
    return min(float(digits), 1.0) if is_weight else 0.0
