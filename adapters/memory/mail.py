"""The outbox in a dictionary, and a mailer that stores its messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.operations.state import OutboxMail
from adapters.memory.store import Access, Store
from application.ports.database import AWAITED, Due, GivenUp, Mail
from application.ports.mail_delivery import MailBacklog, MailServerUnavailable, Message


@dataclass(frozen=True)
class MemoryOutbox:
    access: Access

    async def add(self, mail: Mail) -> None:
        async with self.access.write() as store:
            put_in(store, mail)

    async def take(self, most: int, now: datetime, held: timedelta) -> Sequence[Due]:
        async with self.access.write() as store:
            waiting = [mail for mail in store.outbox.values() if mail.given_up_at is None and mail.due_at <= now]
            due = sorted(waiting, key=lambda each: (each.mail.kind not in AWAITED, each.due_at, each.number))[:most]
            # The mails are due again after ``held``, unless the caller calls ``done`` or ``put_off`` first.
            taken = [replace(mail, due_at=now + held, tries=mail.tries + 1) for mail in due]
            store.outbox.update({mail.mail.id: mail for mail in taken})
        return [
            Due(mail=mail.mail, number=mail.number, tries=mail.tries, since=mail.since)
            for mail in sorted(taken, key=lambda mail: mail.number)
        ]

    async def done(self, mail_id: UUID) -> None:
        async with self.access.write() as store:
            store.outbox.pop(mail_id, None)

    async def put_off(self, mail_id: UUID, until: datetime) -> None:
        async with self.access.write() as store:
            if stored := store.outbox.get(mail_id):
                store.outbox[mail_id] = replace(stored, due_at=until)

    async def give_up(self, mail_id: UUID, at: datetime, why: str) -> None:
        async with self.access.write() as store:
            if stored := store.outbox.get(mail_id):
                store.outbox[mail_id] = replace(stored, given_up_at=at, why=why)

    async def given_up(self, most: int) -> Sequence[GivenUp]:
        found = [(at, mail) for mail in self.access.read().outbox.values() if (at := mail.given_up_at) is not None]
        found.sort(key=lambda mail: (mail[0], mail[1].number), reverse=True)
        return [GivenUp(mail=mail.mail, tries=mail.tries, at=at, why=mail.why) for at, mail in found[:most]]

    async def try_again(self, mail_id: UUID, now: datetime) -> bool:
        async with self.access.write() as store:
            stored = store.outbox.get(mail_id)
            if stored is None or stored.given_up_at is None:
                return False
            store.outbox[mail_id] = replace(stored, given_up_at=None, why="", tries=0, due_at=now, since=now)
            return True

    async def drop(self, mail_id: UUID) -> bool:
        async with self.access.write() as store:
            stored = store.outbox.get(mail_id)
            if stored is None or stored.given_up_at is None:
                return False
            del store.outbox[mail_id]
            return True


@dataclass(frozen=True)
class MemoryOutboxState:
    access: Access

    async def backlog(self) -> MailBacklog:
        mails = self.access.read().outbox.values()
        waiting = [mail for mail in mails if mail.given_up_at is None]
        oldest = min((mail.since for mail in waiting), default=None)
        return MailBacklog(waiting=len(waiting), oldest=oldest, given_up=len(mails) - len(waiting))


def put_in(store: Store, mail: Mail) -> None:
    """Add a mail within a statement of another adapter."""
    number = store.numbers["outbox"] = store.numbers.get("outbox", 0) + 1
    store.outbox[mail.id] = OutboxMail(mail=mail, number=number, due_at=mail.at, since=mail.at)


@dataclass
class MemoryMailer:
    """Stores messages in ``sent``. With ``closed``, it behaves like an unavailable server."""

    sent: list[Message] = field(default_factory=list)
    closed: bool = False

    async def send(self, message: Message) -> None:
        if self.closed:
            raise MailServerUnavailable("The mailer is closed.")
        self.sent.append(message)
