"""Mails that administrators cause, to addresses that nobody has proved: a few a day to each address."""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from application.ports.database import Mail
from application.ports.identity.passwords import NonceTransaction
from application.ports.identity.users import MemberTransaction
from domain.identity.users import User

DAY = timedelta(days=1)
MAILS_TO_STRANGERS_A_DAY = 5
"""Most mails of each kind that administrators cause to an unproved address within a day, over all tenants.

The rest are not sent, and nobody is told.
"""


class AdministrationTransaction(MemberTransaction, NonceTransaction, Protocol):
    """Parts of the database that the administration of accounts needs, and counts its mails with."""


async def add_notice(tx: AdministrationTransaction, mail: Mail, user: User, now: datetime) -> None:
    """Adds a notice to the account's address. Its owner gets every one, once the address is proved."""
    if user.email_proved:
        await tx.outbox.add(mail)
    else:
        await add_to_stranger(tx, mail, user.email_key, now)


async def add_to_stranger(tx: AdministrationTransaction, mail: Mail, email_key: str, now: datetime) -> None:
    """Adds the mail to the outbox, unless the address got as many of its kind within a day as it may."""
    # The account may be deleted and made again: the count belongs to the address, and outlives accounts.
    digest = sha256(email_key.encode()).hexdigest()
    for number in range(MAILS_TO_STRANGERS_A_DAY):
        if await tx.used_nonces.consume(f"{mail.kind}:{digest}:{number}", now + DAY, now):
            await tx.outbox.add(mail)
            return
