"""Mail as files, for a service without an SMTP server. The log names each file."""

import asyncio
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from adapters.mail.mime import mime_of
from application.ports.mail_delivery import MailServerUnavailable, Message

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileMailer:
    folder: Path
    sender: str

    async def send(self, message: Message) -> None:
        """Writes the file whole or not at all. A message that is sent again replaces its own file."""
        content = mime_of(message, self.sender).as_bytes()
        file = self.folder / f"{message.id}.eml"
        try:
            await asyncio.to_thread(_write, file, content)
        except OSError as error:
            raise MailServerUnavailable(str(error)) from error
        log.info("A mail to %s is in %s", message.to, file)


def _write(file: Path, content: bytes) -> None:
    # Links in mails are secrets: folder (0700) and file (mkstemp's 0600) are readable for the service's account alone.
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(prefix=".", dir=file.parent)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())  # the outbox forgets the mail as soon as this returns
    Path(unfinished).replace(file)
