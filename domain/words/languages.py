"""Languages of pages and mails, and their choice for a reader."""

LANGUAGES = ("en", "de")
"""Available languages, the default first."""

RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})


def language_of(tag: str | None) -> str | None:
    """Return the supported language of a tag (RFC 5646): ``"de-AT"`` is ``"de"``, ``"fr"`` is None."""
    primary = (tag or "").strip().replace("_", "-").partition("-")[0].lower()
    return primary if primary in LANGUAGES else None


def chosen_language(*wanted: str | None) -> str:
    """Return the first language in ``LANGUAGES``, else English."""
    return next((language for tag in wanted if (language := language_of(tag))), LANGUAGES[0])
