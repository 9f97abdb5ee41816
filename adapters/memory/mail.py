"""Mails to be sent, and a mailer that only keeps what it was given."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.store import Access, OutboxMail
from application.ports.mail_delivery import MailServerUnavailable, Message
from application.ports.outbox import Due, GivenUp, Mail


@dataclass(frozen=True)
class MemoryOutbox:
    access: Access

    async def add(self, mail: Mail) -> None:
        async with self.access.write() as store:
            number = store.numbers["outbox"] = store.numbers.get("outbox", 0) + 1
            store.outbox[mail.id] = OutboxMail(mail=mail, number=number, due_at=mail.at, since=mail.at)

    async def take(self, most: int, now: datetime, held: timedelta) -> Sequence[Due]:
        async with self.access.write() as store:
            waiting = [one for one in store.outbox.values() if one.given_up_at is None and one.due_at <= now]
            due = sorted(waiting, key=lambda one: (one.due_at, one.number))[:most]
            taken = [replace(one, due_at=now + held, tries=one.tries + 1) for one in due]
            store.outbox.update({one.mail.id: one for one in taken})
        return [
            Due(mail=one.mail, number=one.number, tries=one.tries, since=one.since)
            for one in sorted(taken, key=lambda one: one.number)
        ]

    async def done(self, mail_id: UUID) -> None:
        async with self.access.write() as store:
            store.outbox.pop(mail_id, None)

    async def put_off(self, mail_id: UUID, until: datetime) -> None:
        async with self.access.write() as store:
            if posted := store.outbox.get(mail_id):
                store.outbox[mail_id] = replace(posted, due_at=until)

    async def give_up(self, mail_id: UUID, at: datetime, why: str) -> None:
        async with self.access.write() as store:
            if posted := store.outbox.get(mail_id):
                store.outbox[mail_id] = replace(posted, given_up_at=at, why=why)

    async def given_up(self, most: int) -> Sequence[GivenUp]:
        found = [(at, one) for one in self.access.read().outbox.values() if (at := one.given_up_at) is not None]
        found.sort(key=lambda one: (one[0], one[1].number), reverse=True)
        return [GivenUp(mail=one.mail, tries=one.tries, at=at, why=one.why) for at, one in found[:most]]

    async def try_again(self, mail_id: UUID, now: datetime) -> bool:
        async with self.access.write() as store:
            posted = store.outbox.get(mail_id)
            if posted is None or posted.given_up_at is None:
                return False
            store.outbox[mail_id] = replace(posted, given_up_at=None, why="", tries=0, due_at=now, since=now)
            return True

    async def drop(self, mail_id: UUID) -> bool:
        async with self.access.write() as store:
            posted = store.outbox.get(mail_id)
            if posted is None or posted.given_up_at is None:
                return False
            del store.outbox[mail_id]
            return True


@dataclass
class MemoryMailer:
    """``sent`` is what anybody would have read; ``closed`` makes it behave as a server that is away."""

    sent: list[Message] = field(default_factory=list)
    closed: bool = False

    async def send(self, message: Message) -> None:
        if self.closed:
            raise MailServerUnavailable("The mailer is closed.")
        self.sent.append(message)
