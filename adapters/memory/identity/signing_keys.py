"""The service's keys."""

from dataclasses import dataclass

from msgspec.structs import replace

from adapters.memory.store import Access
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
