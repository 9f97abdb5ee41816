"""What an operator does about mails that were given up; each answers what to print."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from application.ports.outbox import GivenUp
from application.ports.whole_database import Transaction
from domain.errors import NotFound
from domain.scope import EveryTenant
from entrypoints.composition import open_adapters
from entrypoints.entities import load_registry
from entrypoints.settings.settings import Settings

MOST = 1_000
"""As many are shown, and taken by --all, at once."""


async def list_given_up(settings: Settings) -> str:
    registry = load_registry(settings.entities)
    async with open_adapters(settings, registry) as adapters, adapters.database.read_only(EveryTenant()) as read:
        found = await read.outbox.given_up(MOST)
    return "\n".join(map(_line, found)) or "No mail was given up."


async def retry(settings: Settings, ids: Sequence[UUID]) -> str:
    """All for no ids. What is put back is sent by the service: this process sends nothing."""
    registry = load_registry(settings.entities)
    async with open_adapters(settings, registry) as adapters, adapters.database.transaction(EveryTenant()) as tx:
        now = adapters.clock.now()
        number = await _each(tx, ids, lambda mail_id: tx.outbox.try_again(mail_id, now))
    return f"{number} put back: a running service tries again within a second or two."


async def drop(settings: Settings, ids: Sequence[UUID]) -> str:
    """All for no ids."""
    registry = load_registry(settings.entities)
    async with open_adapters(settings, registry) as adapters, adapters.database.transaction(EveryTenant()) as tx:
        number = await _each(tx, ids, tx.outbox.drop)
    return f"{number} thrown away."


async def _each(tx: Transaction, ids: Sequence[UUID], do: Callable[[UUID], Awaitable[bool]]) -> int:
    """All or none: raises NotFound for an id that is of no mail that was given up."""
    chosen = ids or [one.mail.id for one in await tx.outbox.given_up(MOST)]
    for mail_id in chosen:
        if not await do(mail_id):
            raise NotFound(f"No mail {mail_id} was given up.")
    return len(chosen)


def _line(one: GivenUp) -> str:
    return f"{one.mail.id}  {one.at:%Y-%m-%d %H:%M}  {one.mail.kind}  {one.mail.recipient}  {' '.join(one.why.split())}"
