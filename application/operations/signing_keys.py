"""The service's keys: created at the first start, reloaded by every process, rotated on command."""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from application.ports.database import Database
from application.ports.identity.factors import FactorSecrets
from application.ports.identity.signing_keys import Keyring, KeyTransaction, StoredSecret
from application.ports.runtime import Clock
from domain.identity.signing_keys import NOTICE, PURPOSES, SIGNS, SigningKey
from domain.scope import EveryTenant

# Much shorter than NOTICE, so that every process knows a new key before its use.
RELOADED_EVERY = timedelta(seconds=15)
"""Time between two reloads."""


AT_ONCE = 500


class Resealed(NamedTuple):
    """Numbers of resealed service keys and secrets of authenticator apps."""

    keys: int
    secrets: int


@dataclass(frozen=True)
class KeyRotation:
    database: Database[KeyTransaction]
    keyring: Keyring
    clock: Clock

    async def ensure(self) -> None:
        """Create the first key for each purpose that has no key; concurrently starting processes agree on one."""
        async with self.database.autocommit(EveryTenant()) as tx:
            existing = {key.purpose for key in await tx.keys.all()}
            for purpose in PURPOSES:
                if purpose not in existing:
                    await tx.keys.add_first(self.keyring.make_key(purpose, self.clock.now()))
        await self.reload()

    async def reload(self) -> None:
        """Load all stored keys into the keyring."""
        async with self.database.read_only(EveryTenant()) as read:
            self.keyring.use(await read.keys.all())

    async def rotate(self) -> SigningKey:
        """Add a new key for each purpose and use it after NOTICE; return the current signing key.

        The service accepts an old key until everything made with it has expired.
        """
        active_from = self.clock.now() + NOTICE
        new_keys = {purpose: self.keyring.make_key(purpose, active_from) for purpose in PURPOSES}
        async with self.database.transaction(EveryTenant()) as tx:
            for key in new_keys.values():
                await tx.keys.add(key)
        # Load the new keys at once, without waiting for the next reload of this process.
        await self.reload()
        return new_keys[SIGNS]

    async def reseal(self, secrets: FactorSecrets) -> Resealed:
        """Seal every stored key and secret with the current secret key; the operator can then remove the other one.

        Keys that no secret key opens are lost, and remain unchanged. You may repeat the call.
        """
        async with self.database.transaction(EveryTenant()) as tx:
            keys = await tx.keys.all()
            for key in keys:
                await tx.keys.reseal(self.keyring.resealed(key))
        done, last = 0, None
        while stored := await self._secrets_after(last):
            for secret in stored:
                opened = secrets.open(secret.user_id, secret.sealed)
                if opened is not None:
                    async with self.database.autocommit(EveryTenant()) as tx:
                        # The result is False for a secret used concurrently, because that use has resealed it.
                        done += await tx.stored_secrets.reseal(secret, secrets.seal(secret.user_id, opened))
            last = stored[-1].id
        return Resealed(len(keys), done)

    async def _secrets_after(self, last: UUID | None) -> list[StoredSecret]:
        async with self.database.read_only(EveryTenant()) as read:
            return await read.stored_secrets.after(last, AT_ONCE)
