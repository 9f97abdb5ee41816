"""Daily limit per unproved address on mails caused by administrators."""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from application.ports.database import Mail
from application.ports.identity.member_references import DepartureTransaction
from application.ports.identity.passwords import NonceTransaction
from domain.identity.users import User

DAY = timedelta(days=1)
MAILS_TO_STRANGERS_A_DAY = 5
"""Daily maximum of each kind of mail that administrators cause to an unproved address, over all tenants.

Further mails are silently dropped.
"""


class AdministrationTransaction(DepartureTransaction, NonceTransaction, Protocol):
    """Transaction for the administration of accounts, with the nonces that count its mails."""


async def add_notice(tx: AdministrationTransaction, mail: Mail, user: User, now: datetime) -> None:
    """Add a notice to the account's address; unproved addresses have a daily limit."""
    if user.email_proved:
        await tx.outbox.add(mail)
    else:
        await add_to_stranger(tx, mail, user.email_key, now)


async def add_to_stranger(tx: AdministrationTransaction, mail: Mail, email_key: str, now: datetime) -> None:
    """Add the mail to the outbox, up to the address's daily limit for its kind."""
    # Count by address, because the address outlives accounts.
    digest = sha256(email_key.encode()).hexdigest()
    for number in range(MAILS_TO_STRANGERS_A_DAY):
        if await tx.used_nonces.consume(f"{mail.kind}:{digest}:{number}", now + DAY, now):
            await tx.outbox.add(mail)
            return
