"""Reads the mails stored as files, for development without a mail server."""

import asyncio
import email
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from uuid import UUID

from application.ports.mail_delivery import ReceivedMail


@dataclass(frozen=True)
class FileInbox:
    folder: Path

    async def newest(self, most: int) -> list[ReceivedMail]:
        return await asyncio.to_thread(self._newest, most)

    async def find(self, mail_id: UUID) -> ReceivedMail | None:
        return await asyncio.to_thread(self._find, mail_id)

    def _newest(self, most: int) -> list[ReceivedMail]:
        files = sorted(filter(_id, self.folder.glob("*.eml")), key=_changed, reverse=True)
        return [mail for mail in map(_read, files[:most]) if mail is not None]

    def _find(self, mail_id: UUID) -> ReceivedMail | None:
        return _read(self.folder / f"{mail_id}.eml")


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:  # the folder was emptied concurrently
        return 0


def _id(file: Path) -> UUID | None:
    try:
        return UUID(file.stem)
    except ValueError:
        return None


def _read(file: Path) -> ReceivedMail | None:
    mail_id = _id(file)
    try:
        content, changed = file.read_bytes(), file.stat().st_mtime
    except OSError:  # deleted concurrently
        return None
    if mail_id is None:
        return None
    message = email.message_from_bytes(content, _class=EmailMessage, policy=default)
    return ReceivedMail(
        id=mail_id,
        to=str(message["To"]),
        subject=str(message["Subject"]),
        at=datetime.fromtimestamp(changed, UTC),
        text=_part(message, "plain"),
        html=_part(message, "html"),
    )


def _part(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    return "" if part is None else str(part.get_content())
