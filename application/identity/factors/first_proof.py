"""Factors of before the first proof of an address, which may be those of whoever made the account for it."""

from datetime import datetime
from uuid import UUID

from application.identity.factors.proofs import notice
from application.ports.identity.accounts import AccountTransaction
from domain.identity.factors import guesses_of
from domain.identity.users import User
from domain.scope import SYSTEM_TENANT_ID, Client, event


async def forget_factors(tx: AccountTransaction, user: User, mail_id: UUID, client: Client, now: datetime) -> None:
    """Removes factors, recovery codes and the handle of passkeys; the user is told by mail where there was a factor.

    The user's row must be locked.
    """
    removed = await tx.factors.remove(user.id, None)
    await tx.recovery_codes.replace(user.id, [])
    await tx.passkey_handles.forget(user.id)
    await tx.attempts.unlock(guesses_of(user.id))
    if removed:
        await tx.audit.add(SYSTEM_TENANT_ID, event("factor.unproved", user.id, user.id, client, now))
        await tx.outbox.add(notice(mail_id, "factor-removed", user, client, now))
