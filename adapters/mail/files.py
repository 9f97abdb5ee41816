"""Mail for newcomers: each is a file, and the log says where."""

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
        """Whole or not at all; sent again it is the same file."""
        content = mime_of(message, self.sender).as_bytes()
        file = self.folder / f"{message.id}.eml"
        try:
            await asyncio.to_thread(_write, file, content)
        except OSError as error:
            raise MailServerUnavailable(str(error)) from error
        log.info("A mail to %s is in %s", message.to, file)


def _write(file: Path, content: bytes) -> None:
    """Links are secrets: nobody else on the machine reads them."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(prefix=".", dir=file.parent)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    Path(unfinished).replace(file)
