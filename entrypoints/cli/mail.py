"""Operator's commands for mails. Every function returns the text to print."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from application.ports.database import GivenUp
from application.ports.whole_database import Transaction
from domain.errors import NotFound
from domain.scope import EveryTenant
from entrypoints.assembly.adapters import open_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.assembly.mail import inbox_of
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import CommandError

MOST = 1_000
"""Maximum mails listed, or selected by --all, at a time."""


async def list_given_up(settings: Settings) -> str:
    registry = load_registry(settings.entities)
    async with open_adapters(settings, registry) as adapters, adapters.database.read_only(EveryTenant()) as read:
        found = await read.outbox.given_up(MOST)
    return Answer("\n".join(map(_line, found)) or "No mail was given up.", list(map(_fields, found)))


async def open_newest(settings: Settings) -> str:
    inbox = inbox_of(settings)
    if inbox is None:
        raise CommandError(
            "Mails are files only where TENANTRY_SMTP_URL is not set and TENANTRY_BASE_URL is this machine."
        )
    # As text: a terminal shows no HTML, and users can copy the link.
    for mail in await inbox.newest(1):
        text = f"To: {mail.to}\nSubject: {mail.subject}\nSent: {mail.at:%Y-%m-%d %H:%M:%S} UTC\n\n{mail.text}"
        return Answer(text, {"to": mail.to, "subject": mail.subject, "sentAt": mail.at, "text": mail.text})
    return Answer("No mail was sent yet.", None)


async def retry(settings: Settings, ids: Sequence[UUID]) -> str:
    """Put these mails, or all if no ids are given, back into the outbox. The running service then sends them."""
    registry = load_registry(settings.entities)
    async with open_adapters(settings, registry) as adapters, adapters.database.transaction(EveryTenant()) as tx:
        now = adapters.clock.now()
        number = await _each(tx, ids, lambda mail_id: tx.outbox.try_again(mail_id, now))
    return Answer(f"{number} put back: a running service tries again within a second or two.", {"putBack": number})


async def drop(settings: Settings, ids: Sequence[UUID]) -> str:
    """Delete these mails, or all mails if no ids are given."""
    registry = load_registry(settings.entities)
    async with open_adapters(settings, registry) as adapters, adapters.database.transaction(EveryTenant()) as tx:
        number = await _each(tx, ids, tx.outbox.drop)
    return Answer(f"{number} deleted.", {"deleted": number})


async def _each(tx: Transaction, ids: Sequence[UUID], do: Callable[[UUID], Awaitable[bool]]) -> int:
    """Apply ``do`` to the mails with these ids, or to all undeliverable mails; return their number.

    Raises NotFound for an id without an undeliverable mail.
    """
    chosen = ids or [found.mail.id for found in await tx.outbox.given_up(MOST)]
    for mail_id in chosen:
        if not await do(mail_id):
            raise NotFound(f"No mail {mail_id} was given up.")  # the error rolls back all changes of this command
    return len(chosen)


def _fields(given_up: GivenUp) -> dict[str, object]:
    mail = given_up.mail
    return {
        "id": mail.id,
        "givenUpAt": given_up.at,
        "tries": given_up.tries,
        "kind": mail.kind,
        "recipient": mail.recipient,
        "reason": given_up.why,
    }


def _line(given_up: GivenUp) -> str:
    mail, why = given_up.mail, " ".join(given_up.why.split())  # servers answer in several lines
    return f"{mail.id}  {given_up.at:%Y-%m-%d %H:%M}  {mail.kind}  {mail.recipient}  {why}"
