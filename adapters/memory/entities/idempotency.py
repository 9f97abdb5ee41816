"""Responses stored under an Idempotency-Key."""

from dataclasses import dataclass
from datetime import datetime

from adapters.memory.entities.state import StoredResponseRow
from adapters.memory.store import Access
from application.ports.entities.idempotency import Claim, StoredResponse
from domain.retention import KEPT_FOR


@dataclass(frozen=True)
class MemoryIdempotencyStore:
    access: Access

    async def claim(self, claim: Claim, now: datetime) -> StoredResponse | None:
        # Transactions run one after another, so a claim sees every earlier claim.
        found = self.access.read().answers.get((claim.tenant_id, claim.user_id, claim.key))
        return None if found is None or found.at <= now - KEPT_FOR else StoredResponse(found.fingerprint, found.answer)

    async def keep(self, claim: Claim, answer: bytes, now: datetime) -> None:
        async with self.access.write() as store:
            response = StoredResponseRow(fingerprint=claim.fingerprint, answer=answer, at=now)
            store.answers[claim.tenant_id, claim.user_id, claim.key] = response
