"""Mail as files, for a service without an SMTP server. The log names each file and its link."""

import asyncio
import logging
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from adapters.mail.mime import mime_of
from application.ports.mail_delivery import MailServerUnavailable, Message

_LINK = re.compile(r"https?://\S+")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileMailer:
    folder: Path
    sender: str

    async def send(self, message: Message) -> None:
        """Write the file atomically. A message sent again replaces its file."""
        # 8bit, because users cannot copy a link broken by quoted-printable.
        content = mime_of(message, self.sender, encoding="8bit").as_bytes()
        file = self.folder / f"{message.id}.eml"
        try:
            await asyncio.to_thread(_write, file, content)
        except OSError as error:
            raise MailServerUnavailable(str(error)) from error
        link = _LINK.search(message.text)
        log.info("A mail to %s is in %s%s", message.to, file, f", with the link {link[0]}" if link else "")


def _write(file: Path, content: bytes) -> None:
    # Security: links in mails are secrets, so only the service's account may read folder (0700) and file (mkstemp's
    # 0600).
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(prefix=".", dir=file.parent)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())  # the outbox deletes the mail after this call
    Path(unfinished).replace(file)
