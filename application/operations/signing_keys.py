"""The life of the service's keys: made at the first start, read again by every process, rotated on command."""

from dataclasses import dataclass
from datetime import timedelta

from application.ports.clock import Clock
from application.ports.database import Database
from application.ports.identity.signing_keys import Keyring, KeyTransaction
from domain.identity.signing_keys import NOTICE, PURPOSES, SIGNS, SigningKey
from domain.scope import EveryTenant

RELOADED_EVERY = timedelta(seconds=15)
"""Well under the notice that a new key is given, so that every process knows it before it is used."""


@dataclass(frozen=True)
class KeyRotation:
    database: Database[KeyTransaction]
    keyring: Keyring
    clock: Clock

    async def ensure(self) -> None:
        """Makes the first key of each purpose that has none; processes that start together agree on one."""
        async with self.database.autocommit(EveryTenant()) as tx:
            there = {key.purpose for key in await tx.keys.all()}
            for purpose in PURPOSES:
                if purpose not in there:
                    await tx.keys.add_first(self.keyring.make_key(purpose, self.clock.now()))
        await self.reload()

    async def reload(self) -> None:
        async with self.database.read_only(EveryTenant()) as read:
            self.keyring.use(await read.keys.all())

    async def rotate(self) -> SigningKey:
        """A new key for each purpose, used after the notice; the old ones read on until what they made has ended.

        Answers the one that signs.
        """
        hour = self.clock.now() + NOTICE
        made = {purpose: self.keyring.make_key(purpose, hour) for purpose in PURPOSES}
        async with self.database.transaction(EveryTenant()) as tx:
            for key in made.values():
                await tx.keys.add(key)
        await self.reload()
        return made[SIGNS]
