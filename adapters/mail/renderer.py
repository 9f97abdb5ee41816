"""Rendering of mails from templates: a text and an HTML template for each kind."""

import re
import unicodedata
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from application.ports.database import MailKind
from application.ports.mail_delivery import MailContent, Message
from domain.identity.users import plain

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
LONGEST_NAME = 60

SUBJECTS: dict[MailKind, str] = {
    "confirmation": "Confirm your e-mail address",
    "reset": "Set a new password",
    "welcome": "Your new account",
    "password-changed": "Your password was changed",
    "session-stolen": "A session of yours was ended",
    "key-expires": "An API key expires soon",
    "email-changed": "The e-mail address of your account was changed",
    "factor-added": "A second factor was added to your account",
    "factor-removed": "A second factor was removed from your account",
    "factor-cloned": "A passkey of yours may have been copied",
    "recovery-code-used": "A recovery code of yours was used",
    "invitation": "An invitation",
    "new-device": "A login from a new device",
    "identity-linked": "A way to log in was added to your account",
    "identities-unlinked": "Ways to log in were removed from your account",
    "roles-changed": "Your roles were changed",
    "owner-changed": "The owner of a tenant was changed",
}


class JinjaMailRenderer:
    """Renders mails with Jinja. Users' input reaches the templates as values alone, never as template text."""

    def __init__(self, service: str) -> None:
        self._service = " ".join(service.split())

    @cached_property
    def _environment(self) -> "Environment":
        # Imported with the first mail: most processes never render one.
        from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape  # noqa: PLC0415

        return Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=select_autoescape(["html"]),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )

    def write(self, letter: MailContent) -> Message:
        subject = f"{self._service}: {SUBJECTS[letter.kind]}"
        values = {
            "service": self._service,
            "subject": subject,
            "name": greeted(letter.name),
            "link": letter.link,
            "lifetime": in_words(letter.lifetime),
            "at": f"{letter.at:%Y-%m-%d %H:%M} UTC",
            "address": letter.address,
            "tenant": shown(letter.tenant),
            "person": shown(letter.person),
            "has_account": letter.has_account,
        }
        text, html = (
            self._environment.get_template(f"{letter.kind}.{form}").render(values) for form in ("txt", "html")
        )
        return Message(id=letter.id, to=letter.to, subject=subject, text=text, html=html)


def greeted(name: str) -> str | None:
    """Name for the greeting, ``"Ada Lovelace"``; None for a text that could pass as a message, an address or a link."""
    # Anybody can register another person's address under any name: the mail must not deliver a text of theirs.
    words = name.split()
    plain = " ".join(words)
    is_plain = all(_is_plain(char) for char in plain) and not any("." in word.rstrip(".") for word in words)
    return plain if plain and len(plain) <= LONGEST_NAME and is_plain else None


def shown(name: str) -> str:
    """Name in the text of a mail, cut to 60 characters: ``"Acme https://evil.example"`` is ``"Acme https: / / evil. \
example"``."""
    # A mail program makes links of addresses by itself: none is left whole.
    text = " ".join(plain(unicodedata.normalize("NFKC", name)).split())
    return " ".join(_ADDRESS_SIGNS.sub(r"\1 ", text).split())[:LONGEST_NAME].strip()


_ADDRESS_SIGNS = re.compile("([.:/@\u3002\uff0e\uff61\\\\])")


def _is_plain(char: str) -> bool:
    return unicodedata.category(char)[0] in "LM" or char in " .'’-"


def in_words(lifetime: timedelta) -> str:
    """Lifetime as a mail tells it: ``"2 days"``, ``"36 hours"``, ``"90 minutes"``."""
    minutes = lifetime // timedelta(minutes=1)
    for size, unit in ((1440, "days"), (60, "hours")):
        if minutes >= 2 * size and minutes % size == 0:
            return f"{minutes // size} {unit}"
    return f"{minutes} minutes"
