"""Passwords with equal refusal times for imported hashes and the service's own."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from application.ports.database import Database
from application.ports.identity.passwords import ImportedHashTransaction
from application.ports.runtime import Passwords
from domain.scope import EveryTenant

# Longer than verifying the most expensive hash accepted by an import.
BUDGET = timedelta(seconds=1)
"""Minimum time of a refusal."""


@dataclass(frozen=True)
class ConstantTimePasswords:
    """Delay of refusals up to the budget, while any imported hash is stored.

    Security: a different verification time would reveal imported accounts.
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
        # Do not delay a successful login: its caller knows the password, so the time reveals nothing new.
        if not verified and await self._any_imported():
            await asyncio.sleep(due - loop.time())
        return verified

    def is_outdated(self, stored: str) -> bool:
        return self.passwords.is_outdated(stored)

    async def _any_imported(self) -> bool:
        async with self.database.read_only(EveryTenant()) as read:
            return await read.imported.any_left()
