"""Passwords whose refusals take the same time for imported hashes as for the service's own."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from application.ports.database import Database
from application.ports.identity.passwords import ImportedHashTransaction
from application.ports.runtime import Passwords
from domain.scope import EveryTenant

# More than the most expensive hash that an import accepts takes to verify.
BUDGET = timedelta(seconds=1)
"""Time of a refusal."""


@dataclass(frozen=True)
class ConstantTimePasswords:
    """Delays refusals until the budget is used up, as long as any imported hash is stored.

    Security: an imported hash takes another time to verify and would show which accounts were imported.
    """

    passwords: Passwords
    database: Database[ImportedHashTransaction]
    budget: timedelta = BUDGET

    async def hash(self, password: str) -> str:
        return await self.passwords.hash(password)

    async def verify(self, password: str, stored: str | None) -> bool:
        loop = asyncio.get_running_loop()
        due = loop.time() + self.budget.total_seconds()
        verified = await self.passwords.verify(password, stored)
        # A successful login needs no delay: it tells about the account anyway.
        if not verified and await self._any_imported():
            await asyncio.sleep(due - loop.time())
        return verified

    def is_outdated(self, stored: str) -> bool:
        return self.passwords.is_outdated(stored)

    async def _any_imported(self) -> bool:
        async with self.database.read_only(EveryTenant()) as read:
            return await read.imported.any_left()
