"""The service's keys."""

from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.store import Access
from application.ports.identity.signing_keys import StoredSecret
from domain.identity.signing_keys import SigningKey


@dataclass(frozen=True)
class MemorySigningKeys:
    access: Access

    async def all(self) -> list[SigningKey]:
        return sorted(self.access.read().keys.values(), key=lambda key: (key.active_from, key.kid))

    async def add_first(self, key: SigningKey) -> bool:
        async with self.access.write() as store:
            if any(stored.purpose == key.purpose for stored in store.keys.values()):
                return False
            store.keys[key.kid] = key
            return True

    async def add(self, key: SigningKey) -> None:
        async with self.access.write() as store:
            store.keys[key.kid] = key

    async def reseal(self, key: SigningKey) -> None:
        async with self.access.write() as store:
            store.keys[key.kid] = replace(store.keys[key.kid], sealed=key.sealed)


@dataclass(frozen=True)
class MemoryStoredSecrets:
    access: Access

    async def after(self, last: UUID | None, most: int) -> list[StoredSecret]:
        factors = sorted(self.access.read().factors.values(), key=lambda factor: factor.id)
        return [
            StoredSecret(factor.id, factor.user_id, factor.sealed)
            for factor in factors
            if factor.sealed is not None and (last is None or factor.id > last)
        ][:most]

    async def reseal(self, secret: StoredSecret, sealed: str) -> bool:
        async with self.access.write() as store:
            factor = store.factors.get(secret.id)
            if factor is None or factor.sealed != secret.sealed:
                return False
            store.factors[secret.id] = replace(factor, sealed=sealed)
            return True
