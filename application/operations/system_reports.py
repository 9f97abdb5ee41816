"""State of the service for super-admins: settings without secrets, undeliverable mails, keys, readiness."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from application.operations.job_results import JobResult, JobResults
from application.ports.runtime import Clock
from application.ports.shared_memory import Admissions
from application.ports.whole_database import WholeDatabase
from domain.identity.signing_keys import SigningKey, signing_key
from domain.scope import EveryTenant

SHOWN_MAILS = 20
"""Maximum number of mails in a report, the latest first."""

MailDelivery = Literal["smtp", "files"]


class SettingItem(Struct, rename="camel", kw_only=True, frozen=True):
    """A setting as an environment variable; ``value`` is None for secrets and unset settings.

    ``source`` is ``environment`` or a file name; None for a default, and for a value that the service chose.
    """

    name: str
    value: str | None
    is_secret: bool
    is_default: bool
    source: str | None


class GivenUpMail(Struct, rename="camel", kw_only=True):
    """A mail that could not be sent, with the last reason."""

    id: UUID
    kind: str
    recipient: str
    at: datetime
    tries: int
    reason: str


class KeyItem(Struct, rename="camel", kw_only=True):
    """A key of the service; ``is_used`` marks the key that its algorithm uses for new tokens or passwords."""

    id: str
    algorithm: str
    active_from: datetime
    is_used: bool


class MailState(Struct, rename="camel", kw_only=True):
    """State of mail delivery: ``delivery`` is ``files`` without a configured SMTP server; ``waiting`` is the number of
    mails to send, ``oldest`` the time of the first of them; ``given_up`` are the latest undeliverable mails.
    """

    delivery: MailDelivery
    waiting: int
    oldest: datetime | None
    given_up: list[GivenUpMail]


class SystemReport(Struct, kw_only=True):
    """State of the service for super-admins; ``database`` and ``redis`` report whether this process reaches them."""

    version: str
    database: bool
    redis: bool
    mail: MailState
    keys: list[KeyItem]
    jobs: list[JobResult]
    settings: tuple[SettingItem, ...]


@dataclass(frozen=True)
class SystemReports:
    database: WholeDatabase
    admissions: Admissions
    clock: Clock
    version: str
    delivery: MailDelivery
    settings: tuple[SettingItem, ...]
    jobs: JobResults

    async def report(self) -> SystemReport:
        now = self.clock.now()
        # Mails and keys belong to no tenant.
        async with self.database.read_only(EveryTenant()) as read:
            given_up, keys = await read.outbox.given_up(SHOWN_MAILS), await read.keys.all()
            backlog = await read.outbox_state.backlog()
        mails = [
            GivenUpMail(
                id=found.mail.id,
                kind=found.mail.kind,
                recipient=found.mail.recipient,
                at=found.at,
                tries=found.tries,
                reason=found.why,
            )
            for found in given_up
        ]
        return SystemReport(
            version=self.version,
            database=await self.database.is_ready(),
            redis=await self.admissions.is_shared(),
            mail=MailState(delivery=self.delivery, waiting=backlog.waiting, oldest=backlog.oldest, given_up=mails),
            keys=_listed(keys, now),
            jobs=await self.jobs.latest(),
            settings=self.settings,
        )


def _listed(keys: Sequence[SigningKey], now: datetime) -> list[KeyItem]:
    by_purpose = {purpose: [key for key in keys if key.purpose == purpose] for purpose in {key.purpose for key in keys}}
    used = {signing_key(own, now).kid for own in by_purpose.values()}
    ordered = sorted(keys, key=lambda key: (key.purpose, -key.active_from.timestamp(), key.kid))
    return [
        KeyItem(id=key.kid, algorithm=key.purpose, active_from=key.active_from, is_used=key.kid in used)
        for key in ordered
    ]
