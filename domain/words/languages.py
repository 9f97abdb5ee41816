"""Languages of pages and mails, and which of them somebody reads."""

LANGUAGES = ("en", "de")
"""Languages that have their words here, the one for everybody else first."""

RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})


def language_of(tag: str | None) -> str | None:
    """Language of a tag (RFC 5646) that has words here: ``"de-AT"`` is ``"de"``, ``"fr"`` is None."""
    primary = (tag or "").strip().replace("_", "-").partition("-")[0].lower()
    return primary if primary in LANGUAGES else None


def chosen_language(*wanted: str | None) -> str:
    """The first of the languages that is one of ``LANGUAGES``, else English."""
    return next((language for tag in wanted if (language := language_of(tag))), LANGUAGES[0])
