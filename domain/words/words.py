"""Texts of one language by key, with its formats of dates and durations."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from domain.words.languages import RIGHT_TO_LEFT

TEXTS = ("mails", "common", "pages")
ANSWERS = ("answers", "console-answers")
NOTHING: Mapping[str, str] = MappingProxyType({})
_FOLDER = Path(__file__).parent
_PLACE = re.compile(r"\{(\w+)\}")


class Words(Struct, frozen=True, kw_only=True):
    """Texts of pages and mails in one language, and translations of the API's messages.

    ``texts`` has the texts by key; ``answers`` has the translated error messages by their English text.
    """

    language: str
    texts: Mapping[str, str]
    answers: Mapping[str, str]

    @property
    def direction(self) -> Literal["ltr", "rtl"]:
        return "rtl" if self.language in RIGHT_TO_LEFT else "ltr"

    def text(self, key: str, values: Mapping[str, str] = NOTHING) -> str:
        """Return the key's text with filled placeholders."""
        return self.filled(self.texts[key], values)

    @staticmethod
    def filled(text: str, values: Mapping[str, str]) -> str:
        """Fill the placeholders of ``text``: ``{name}`` becomes ``values["name"]``.

        Raises KeyError for unknown placeholders.

        The function does not fill placeholders inside values.
        """
        return _PLACE.sub(lambda place: values[place[1]], text)

    def moment(self, at: datetime) -> str:
        """Format a time as ``"2 January 2026, 03:04 UTC"``."""
        at = at.astimezone(UTC)
        month = self.texts["mail.months"].split()[at.month - 1]
        values = {"day": str(at.day), "month": month, "year": str(at.year), "time": f"{at:%H:%M}"}
        return self.text("mail.moment", values)

    def lifetime(self, lifetime: timedelta) -> str:
        """Return a lifetime as mails write it: ``"2 days"``, ``"36 hours"``, ``"90 minutes"``. The
        number is never 1.
        """
        minutes = lifetime // timedelta(minutes=1)
        for size, unit in ((1440, "days"), (60, "hours")):
            if minutes >= 2 * size and minutes % size == 0:
                return self.text(f"mail.{unit}", {"count": str(minutes // size)})
        return self.text("mail.minutes", {"count": str(minutes)})

    def answer(self, sentence: str) -> str | None:
        """Return the API's sentence in this language, or None without a translation; English is unchanged."""
        if self.language == "en":
            return sentence
        if (text := self.answers.get(sentence)) is not None:
            return text
        for pattern, text in _patterns(self.language):
            if found := pattern.fullmatch(sentence):
                return self.filled(text, {name: self._value(value) for name, value in found.groupdict().items()})
        return None

    def _value(self, value: str) -> str:
        """Placeholder text: numbers and names unchanged, kinds such as ``text or null`` translated."""
        return f" {self.answers['or']} ".join(self.answers.get(kind, kind) for kind in value.split(" or "))


@cache
def words_of(language: str) -> Words:
    """Return the texts of one of ``LANGUAGES``; the files are read once."""
    return Words(language=language, texts=_read(language, TEXTS), answers=_read(language, ANSWERS))


def _read(language: str, names: Iterable[str]) -> dict[str, str]:
    content: dict[str, str] = {}
    for name in names:
        content |= json.loads((_FOLDER / language / f"{name}.json").read_text(encoding="utf-8"))
    return content


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    answers = words_of(language).answers.items()
    return [(_pattern(sentence), text) for sentence, text in answers if _PLACE.search(sentence)]


def _pattern(sentence: str) -> re.Pattern[str]:
    pieces = _PLACE.split(sentence)
    # odd pieces are placeholder names
    parts = (f"(?P<{piece}>.+?)" if at % 2 else re.escape(piece) for at, piece in enumerate(pieces))
    return re.compile("".join(parts))
