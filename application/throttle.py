"""Every request's first question: is there room for it, and is its token still alive?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from application.ports.admissions import Admission, Admissions, ShownToken
from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from domain.errors import Error, RateLimited, ServiceUnavailable, Unauthorized
from domain.identity.token_versions import ensure_alive
from domain.limits import Hit, Verdict, tightest
from domain.scope import Caller, EveryTenant


class Admitted(Struct, frozen=True):
    """``verdict`` is None when nothing was counted; ``refusal`` says why the request goes no further."""

    verdict: Verdict | None
    refusal: Error | None


@dataclass(frozen=True)
class Throttle:
    """``enforced`` False counts and shows, but refuses nothing (benchmarks)."""

    admissions: Admissions
    database: Database[IdentityTransaction]
    enforced: bool = True

    async def admit(self, hits: Sequence[Hit], caller: Caller | None, instead: Sequence[Hit]) -> Admitted:
        """A token that is dead is nobody's: it counts ``instead``, as one that does not verify."""
        shown = ShownToken(caller.issued, instead) if caller else None
        admission = await self.admissions.admit(hits, shown)
        verdicts = admission.verdicts
        refusal: Error | None = None
        if caller is not None:
            try:
                ensure_alive(caller.issued, await self._counts(admission, tuple(caller.issued)))
            except ServiceUnavailable as away:
                refusal = away
            except Unauthorized as dead:
                refusal = dead
                if not admission.counted_instead:
                    verdicts = await self._recount(hits, admission, instead)
        return self._admitted(verdicts, refusal)

    def _admitted(self, verdicts: Sequence[Verdict], refusal: Error | None) -> Admitted:
        """A limit that is full goes before a dead token, which is no more than a guess there."""
        if not verdicts:
            return Admitted(None, refusal)
        verdict = tightest(tuple(verdicts))
        if not verdict.allowed and self.enforced and not isinstance(refusal, ServiceUnavailable):
            return Admitted(verdict, RateLimited(verdict.retry_after))
        return Admitted(verdict, refusal)

    async def _recount(self, hits: Sequence[Hit], admission: Admission, instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        """Only the database knew that the token is dead."""
        counted = hits if all(verdict.allowed for verdict in admission.verdicts) else ()
        return await self.admissions.recount(counted, instead) if hits else ()

    async def _counts(self, admission: Admission, subjects: Sequence[str]) -> Mapping[str, int]:
        if admission.token_versions is not None:
            return admission.token_versions
        async with self.database.read_only(EveryTenant()) as read:
            counts = await read.token_versions.of(subjects)
        if admission.ticket is not None:
            await self.admissions.remember(counts, admission.ticket)
        return counts
