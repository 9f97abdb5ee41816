"""Welcome mails to people for whom an administrator makes an account, a few a day to each address."""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol
from uuid import UUID

from application.ports.database import Mail
from application.ports.identity.passwords import NonceTransaction
from application.ports.identity.users import MemberTransaction
from domain.limits import WELCOMES_A_DAY

DAY = timedelta(days=1)


class WelcomeTransaction(MemberTransaction, NonceTransaction, Protocol):
    """Parts of the database that accounts with a welcome mail need."""


async def add_welcome(tx: WelcomeTransaction, mail_id: UUID, email_key: str, now: datetime) -> None:
    """Adds the mail to the outbox, unless the address got as many within a day as it may."""
    # The account may be deleted and made again: the count belongs to the address, and outlives accounts.
    digest = sha256(email_key.encode()).hexdigest()
    for number in range(WELCOMES_A_DAY):
        if await tx.used_nonces.consume(f"welcome:{digest}:{number}", now + DAY, now):
            await tx.outbox.add(Mail(id=mail_id, kind="welcome", recipient=email_key, at=now))
            return
