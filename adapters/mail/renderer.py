"""Rendering of mails: words by kind and language (``domain/words``) in a text and an HTML template."""

import re
import unicodedata
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from application.ports.mail_delivery import MailContent, Message
from domain.forms import plain
from domain.words.words import Words, words_of

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
LONGEST_NAME = 60
BUTTON = "{button}"
"""Text paragraph that the link replaces."""


class JinjaMailRenderer:
    """Renders mails with Jinja. User input reaches the templates only as values, never as template text."""

    def __init__(self, service: str) -> None:
        self._service = " ".join(service.split())

    @cached_property
    def _environment(self) -> "Environment":
        # Import late: most processes never render a mail.
        from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

        return Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=select_autoescape(["html"]),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def write(self, letter: MailContent) -> Message:
        words, name = words_of(letter.language), greeted(letter.name)
        subject = f"{self._service}: {words.text(f'mail.{letter.kind}.subject')}"
        values = {
            "service": self._service,
            "subject": subject,
            "language": words.language,
            "direction": words.direction,
            "greeting": words.text("mail.greeting-name", {"name": name}) if name else words.text("mail.greeting"),
            "paragraphs": self._paragraphs(letter, words),
            "link": letter.link,
            "button": words.texts.get(f"mail.{letter.kind}.button"),
            "copy": words.text("mail.copy"),
            "type": words.text("mail.code"),
            "code": letter.code,
        }
        text, html = (self._environment.get_template(f"letter.{form}").render(values) for form in ("txt", "html"))
        return Message(id=letter.id, to=letter.to, subject=subject, text=text, html=html)

    def _paragraphs(self, letter: MailContent, words: Words) -> list[str | None]:
        """Paragraphs of the mail; None represents the link."""
        key = f"mail.{letter.kind}.text"
        # Some mails have another text for account holders.
        if letter.has_account and f"{key}-account" in words.texts:
            key = f"{key}-account"
        values = {
            "service": self._service,
            "lifetime": words.lifetime(letter.lifetime),
            "at": words.moment(letter.at),
            "address": letter.address,
            "tenant": name_in_mail(letter.tenant),
            "person": name_in_mail(letter.person),
            "button": BUTTON,
        }
        # Security: split the text into paragraphs before filling in the values, so that no value adds a paragraph or a
        # link.
        cut = words.texts[key].split("\n\n")
        return [None if text == BUTTON else words.filled(text, values) for text in cut]


def greeted(name: str) -> str | None:
    """Return the name for the greeting, ``"Ada Lovelace"``; None for text that could contain a message or a link."""
    # Security: anybody can register another person's address, so the mail must not contain a message in place of a
    # name.
    words = name.split()
    plain = " ".join(words)
    is_plain = all(_is_plain(char) for char in plain) and not any("." in word.rstrip(".") for word in words)
    return plain if plain and len(plain) <= LONGEST_NAME and is_plain else None


def name_in_mail(name: str) -> str:
    """Name in the text of a mail, cut to 60 characters: ``"Acme https://evil.example"`` is ``"Acme https: / / evil. \
example"``."""
    # Insert spaces into addresses, because mail programs turn addresses into links.
    text = " ".join(plain(unicodedata.normalize("NFKC", name)).split())
    return " ".join(_ADDRESS_SIGNS.sub(r"\1 ", text).split())[:LONGEST_NAME].strip()


_ADDRESS_SIGNS = re.compile("([.:/@\u3002\uff0e\uff61\\\\])")


def _is_plain(char: str) -> bool:
    return unicodedata.category(char)[0] in "LM" or char in " .'’-"
