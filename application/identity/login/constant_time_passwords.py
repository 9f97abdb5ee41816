"""Passwords whose refusals tell nobody, by the time they take, which account has an imported hash."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from application.ports.database import Database
from application.ports.identity.imported_hashes import ImportedHashTransaction
from application.ports.passwords import Passwords
from domain.scope import EveryTenant

BUDGET = timedelta(seconds=1)
"""More than the dearest hash that an import takes costs to verify."""


@dataclass(frozen=True)
class ConstantTimePasswords:
    """While any imported hash is left refusals come after the budget, whatever was verified; waiting costs nothing."""

    passwords: Passwords
    database: Database[ImportedHashTransaction]
    budget: timedelta = BUDGET

    async def hash(self, password: str) -> str:
        return await self.passwords.hash(password)

    async def verify(self, password: str, stored: str | None) -> bool:
        loop = asyncio.get_running_loop()
        due = loop.time() + self.budget.total_seconds()
        verified = await self.passwords.verify(password, stored)
        if not verified and await self._any_imported():
            await asyncio.sleep(due - loop.time())
        return verified

    def is_outdated(self, stored: str) -> bool:
        return self.passwords.is_outdated(stored)

    async def _any_imported(self) -> bool:
        async with self.database.read_only(EveryTenant()) as read:
            return await read.imported.any_left()
