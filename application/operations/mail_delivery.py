"""Delivery of the outbox's mails: each is rendered and sent until a mail server accepts it."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Struct

from application.ports.database import Database, Due, Mail, MailKind
from application.ports.identity.accounts import AccountTransaction, OneTimeToken, Purpose
from application.ports.identity.invitations import InvitationTransaction
from application.ports.identity.tenants import TenantTransaction
from application.ports.mail_delivery import (
    MailContent,
    Mailer,
    MailRenderer,
    MailServerUnavailable,
    Undeliverable,
)
from application.ports.runtime import Clock, LinkSecrets
from domain.errors import ServiceUnavailable
from domain.identity.typed_codes import token_hash
from domain.identity.users import Membership, User, email_key
from domain.scope import EveryTenant
from domain.words.languages import chosen_language

AT_ONCE = 10
# Longer than a sender needs: if the sender crashes, another process claims the mail after this time.
HELD = timedelta(minutes=2)
"""Lifetime of the claim on a mail."""

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(hours=1)
GIVEN_UP_AFTER = timedelta(days=3)
LONGEST_REASON = 500

log = logging.getLogger(__name__)


class Link(Struct, frozen=True):
    purpose: Purpose
    lifetime: timedelta


LINKS: dict[MailKind, Link] = {
    "confirmation": Link("confirm", timedelta(hours=24)),
    "reset": Link("reset", timedelta(minutes=60)),
    "welcome": Link("reset", timedelta(days=7)),
}


class Pages(Struct, frozen=True):
    """Web pages for links."""

    confirm: str
    reset: str
    invitation: str


class DeliveryTransaction(AccountTransaction, InvitationTransaction, TenantTransaction, Protocol):
    """Transaction to read the content of mails."""


@dataclass(frozen=True)
class OutboxRelay:
    database: Database[DeliveryTransaction]
    renderer: MailRenderer
    mailer: Mailer
    secrets: LinkSecrets
    clock: Clock
    pages: Pages

    async def deliver(self) -> int:
        """Send some of the due mails; return the number of claimed mails."""
        async with self.database.autocommit(EveryTenant()) as tx:
            taken = await tx.outbox.take(AT_ONCE, self.clock.now(), HELD)
        await asyncio.gather(*(self._deliver(due) for due in taken))
        return len(taken)

    async def _deliver(self, due: Due) -> None:
        try:
            content = await self._content(due)
            if content is not None:
                await self.mailer.send(self.renderer.write(content))
        except Undeliverable as refusal:
            await self._give_up(due, refusal)
        # The mail stays claimed and is due again after HELD.
        except ServiceUnavailable:
            log.warning("The database does not answer: a mail that was taken waits.")
        # One broken mail must not block the others.
        except Exception as error:  # noqa: BLE001  # whatever it raises
            await self._try_again(due, error)
        else:
            async with self.database.autocommit(EveryTenant()) as tx:
                await tx.outbox.done(due.mail.id)

    async def _content(self, due: Due) -> MailContent | None:
        mail = due.mail
        if mail.kind == "invitation":
            return await self._invitation(mail)
        if mail.kind == "email-change":
            return await self._email_change(mail)
        link = LINKS.get(mail.kind)
        if link is None:
            return await self._notice(mail)
        return await self._link(due, link)

    async def _notice(self, mail: Mail) -> MailContent:
        key = email_key(mail.recipient)
        async with self.database.read_only(EveryTenant()) as read:
            state = None if key is None else await read.users.state_by_email(key)
        return MailContent(
            id=mail.id,
            kind=mail.kind,
            to=mail.recipient,
            name=mail.name,
            address=mail.address,
            at=mail.at,
            tenant=mail.about,
            language=await self._language(mail, state.memberships if state else ()),
        )

    async def _link(self, due: Due, link: Link) -> MailContent | None:
        mail = due.mail
        async with self.database.transaction(EveryTenant()) as tx:
            state = await tx.users.state_by_email(mail.recipient)
            # Send nothing: the address has no account any more, or the link is useless.
            if state is None or not is_wanted(mail, state.user):
                return None
            # The same mail always gets the same secret, so a mail sent twice contains one working link.
            user, secret, now = state.user, self.secrets.code(mail.id), self.clock.now()
            token = OneTimeToken(
                user_id=user.id,
                email_key=user.email_key,
                purpose=link.purpose,
                number=due.number,
                hash=token_hash(secret),
                issued_at=now,
                expires_at=now + link.lifetime,
            )
            # Send nothing: the user has used this link or a newer one, or another mail to the address was just sent.
            if not await tx.one_time_tokens.issue(token):
                return None
        return MailContent(
            id=mail.id,
            kind=mail.kind,
            to=user.email,
            name=user.full_name,
            address=mail.address,
            at=mail.at,
            link=self._url(link.purpose, user.email, secret),
            code=secret,
            lifetime=link.lifetime,
            language=await self._language(mail, state.memberships),
        )

    async def _invitation(self, mail: Mail) -> MailContent | None:
        secret, now = self.secrets.code(mail.id), self.clock.now()
        async with self.database.read_only(EveryTenant()) as read:
            offer = await read.received.by_hash(token_hash(secret))
        # Send nothing: the invitation has ended, or it has a newer link.
        if offer is None or not offer.is_living(now):
            return None
        return MailContent(
            id=mail.id,
            kind=mail.kind,
            to=offer.invitation.email,
            name=offer.account_name or "",
            address="",
            at=mail.at,
            link=f"{self.pages.invitation}#{urlencode({'token': secret})}",
            code=secret,
            lifetime=offer.invitation.expires_at - mail.at,
            tenant=offer.tenant_name,
            person=offer.inviter_name or "",
            has_account=offer.account_name is not None,
            language=await self._tenant_language(offer.invitation.tenant_id, mail),
        )

    async def _email_change(self, mail: Mail) -> MailContent | None:
        secret = self.secrets.code(mail.id)
        async with self.database.read_only(EveryTenant()) as read:
            change = await read.email_changes.by_hash(token_hash(secret), self.clock.now())
            state = await read.users.state(change.user_id) if change else None
            holder = await read.users.state_by_email(change.email_key) if change else None
        # Send nothing: the request has ended, or the user has requested another address since.
        if change is None or state is None or not state.user.is_active:
            return None
        return MailContent(
            id=mail.id,
            kind=mail.kind,
            to=change.email,
            name="",
            address="",
            at=mail.at,
            link=self._url("confirm", change.email, secret),
            code=secret,
            lifetime=change.expires_at - mail.at,
            # Security: report the existing account only to the owner of the address; the link cannot work for it.
            has_account=holder is not None and holder.user.id != change.user_id,
            language=await self._language(mail, state.memberships),
        )

    async def _language(self, mail: Mail, memberships: Sequence[Membership]) -> str:
        """Language of the reader's tenant, the default one first; without a tenant, the browser's."""
        open_ones = sorted(
            (held for held in memberships if held.tenant_is_active),
            key=lambda held: (not held.is_default, held.joined_at),
        )
        if not open_ones:
            return chosen_language(mail.language)
        return await self._tenant_language(open_ones[0].tenant_id, mail)

    async def _tenant_language(self, tenant_id: UUID, mail: Mail) -> str:
        async with self.database.read_only(EveryTenant()) as read:
            tenant = await read.tenants.by_id(tenant_id)
        return chosen_language(tenant.settings.language if tenant else None, mail.language)

    def _url(self, purpose: Purpose, email: str, secret: str) -> str:
        # Security: browsers do not send text after the ``#``, so server logs and Referer do not contain the token.
        page = self.pages.confirm if purpose == "confirm" else self.pages.reset
        return f"{page}#{urlencode({'email': email, 'token': secret})}"

    async def _try_again(self, due: Due, error: Exception) -> None:
        now = self.clock.now()
        if now - due.since >= GIVEN_UP_AFTER:
            await self._give_up(due, error)
            return
        until = now + pause(due.tries)
        known = error if not isinstance(error, MailServerUnavailable) else None
        told = until.isoformat(timespec="seconds")
        log.warning("Mail %s (%s) waits until %s: %s", due.mail.id, due.mail.kind, told, error, exc_info=known)
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.outbox.put_off(due.mail.id, until)

    async def _give_up(self, due: Due, why: Exception) -> None:
        log.error("Mail %s (%s) is given up: %s", due.mail.id, due.mail.kind, why)
        async with self.database.autocommit(EveryTenant()) as tx:
            # Remove NUL, because a mail server's response may contain it and PostgreSQL cannot store it.
            await tx.outbox.give_up(due.mail.id, self.clock.now(), str(why).replace("\0", "")[:LONGEST_REASON])


def is_wanted(mail: Mail, user: User) -> bool:
    """Return whether the mail is still useful: a disabled account and a confirmed address need no link."""
    return user.is_active and not (mail.kind == "confirmation" and user.email_confirmed)


def pause(tries: int) -> timedelta:
    """Return the delay after ``tries`` failures: 10 s, then three times the previous delay, at most an hour."""
    factor: int = 3 ** min(tries - 1, 10)
    return min(LONGEST_PAUSE, FIRST_PAUSE * factor)
