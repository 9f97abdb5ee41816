"""Every request's first question: is there room for it, and is its token still alive?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from application.ports.admissions import Admission, Admissions
from application.ports.identity import Identity
from application.ports.world import Database
from domain.errors import Error, RateLimited, ServiceUnavailable, Unauthorized
from domain.limits import Hit, Verdict, tightest
from domain.revocation import ensure_alive
from domain.scope import Caller, EveryTenant


class Admitted(Struct, frozen=True):
    """``verdict`` is None when nothing was counted; ``refusal`` says why the request goes no further."""

    verdict: Verdict | None
    refusal: Error | None


@dataclass(frozen=True)
class Throttle:
    """``enforced`` False counts and shows, but refuses nothing (benchmarks)."""

    admissions: Admissions
    database: Database[Identity]
    enforced: bool = True

    async def admit(self, hits: Sequence[Hit], caller: Caller | None) -> Admitted:
        """A dead token is told before a full limit: 401 goes before 429."""
        subjects = tuple(caller.issued) if caller else ()
        admission = await self.admissions.admit(hits, subjects)
        verdict = tightest(admission.verdicts) if admission.verdicts else None
        if caller is not None:
            try:
                ensure_alive(caller.issued, await self._counts(admission, subjects))
            except (Unauthorized, ServiceUnavailable) as refusal:
                return Admitted(verdict, refusal)
        if verdict is not None and not verdict.allowed and self.enforced:
            return Admitted(verdict, RateLimited(verdict.retry_after))
        return Admitted(verdict, None)

    async def _counts(self, admission: Admission, subjects: Sequence[str]) -> Mapping[str, int]:
        if admission.counts is not None:
            return admission.counts
        async with self.database.reading(EveryTenant()) as read:
            counts = await read.counts.of(subjects)
        if admission.ticket is not None:
            await self.admissions.remember(counts, admission.ticket)
        return counts
