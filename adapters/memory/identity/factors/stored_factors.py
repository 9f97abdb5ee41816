"""Second factors, recovery codes, and the handles of passkeys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.store import Access, MemoryContext
from application.ports.identity.factors import Credential, Factor
from domain.errors import Conflict


@dataclass(frozen=True)
class MemoryFactors:
    access: Access

    async def of(self, user_id: UUID) -> list[Factor]:
        own = [factor for factor in self.access.read().factors.values() if factor.user_id == user_id]
        return sorted(own, key=lambda factor: (factor.created_at, factor.id))

    async def by_credential(self, credential_id: bytes) -> Factor | None:
        factors = self.access.read().factors.values()
        return next((f for f in factors if f.credential is not None and f.credential.id == credential_id), None)

    async def add(self, factor: Factor) -> None:
        if factor.credential is not None and await self.by_credential(factor.credential.id) is not None:
            raise Conflict.on("response", "This passkey is registered already.")
        async with self.access.write() as store:
            store.factors[factor.id] = factor

    async def rename(self, user_id: UUID, factor_id: UUID, name: str) -> bool:
        async with self.access.write() as store:
            factor = store.factors.get(factor_id)
            if factor is None or factor.user_id != user_id:
                return False
            store.factors[factor_id] = replace(factor, name=name)
            return True

    async def remove(self, user_id: UUID, factor_id: UUID | None) -> int:
        async with self.access.write() as store:
            gone = [f.id for f in store.factors.values() if f.user_id == user_id and factor_id in (None, f.id)]
            for removed in gone:
                del store.factors[removed]
            return len(gone)

    async def use_step(self, factor_id: UUID, step: int, sealed: str, at: datetime) -> bool:
        async with self.access.write() as store:
            factor = store.factors.get(factor_id)
            if factor is None or factor.last_step >= step:
                return False
            store.factors[factor_id] = replace(factor, last_step=step, sealed=sealed, last_used_at=at)
            return True

    async def use_credential(self, factor_id: UUID, seen: int, credential: Credential, at: datetime) -> bool:
        async with self.access.write() as store:
            factor = store.factors.get(factor_id)
            if factor is None or factor.credential is None or factor.credential.counter != seen:
                return False
            changed = replace(factor.credential, counter=credential.counter, backed_up=credential.backed_up)
            store.factors[factor_id] = replace(factor, credential=changed, last_used_at=at)
            return True


@dataclass(frozen=True)
class MemoryRecoveryCodes:
    access: Access

    async def replace(self, user_id: UUID, digests: Sequence[bytes]) -> None:
        async with self.access.write() as store:
            others = {key: used for key, used in store.recovery_codes.items() if key[0] != user_id}
            store.recovery_codes = {**others, **{(user_id, digest): None for digest in digests}}

    async def use(self, user_id: UUID, digest: bytes, at: datetime) -> bool:
        async with self.access.write() as store:
            if store.recovery_codes.get((user_id, digest), at) is not None:
                return False
            store.recovery_codes[user_id, digest] = at
            return True

    async def left(self, user_id: UUID) -> int:
        codes = self.access.read().recovery_codes
        return sum(used is None for (owner, _), used in codes.items() if owner == user_id)


@dataclass(frozen=True)
class MemoryPasskeyHandles:
    access: Access

    async def of(self, user_id: UUID, fresh: bytes) -> bytes:
        async with self.access.write() as store:
            return store.passkey_handles.setdefault(user_id, fresh)


class MemoryFactorPorts(MemoryContext):
    @property
    def factors(self) -> MemoryFactors:
        return MemoryFactors(self.access)

    @property
    def recovery_codes(self) -> MemoryRecoveryCodes:
        return MemoryRecoveryCodes(self.access)

    @property
    def passkey_handles(self) -> MemoryPasskeyHandles:
        return MemoryPasskeyHandles(self.access)
