"""Readers for the content of mails."""

import re
from urllib.parse import parse_qsl

from application.ports.mail_delivery import Message

LINK = re.compile(r"https?://\S+#\S+")


def link_in(message: Message) -> str:
    found = LINK.search(message.text)
    assert found, message.text
    return found[0]


def said_by(link: str) -> dict[str, str]:
    """The parameters ``email`` and ``token`` of a link."""
    return dict(parse_qsl(link.partition("#")[2], strict_parsing=True))
