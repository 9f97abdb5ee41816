"""First step of every request: rate limits are counted, and the token is checked for revocation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from application.ports.admissions import Admission, Admissions, PresentedToken
from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from domain.errors import Error, RateLimited, ServiceUnavailable, Unauthorized
from domain.identity.tokens import ensure_alive
from domain.limits import Hit, Verdict, tightest
from domain.scope import Caller, EveryTenant


class Admitted(Struct, frozen=True):
    """Result of the first step.

    ``verdict`` is None when no limit was counted; ``refusal`` is the error to answer with, None to go on.
    """

    verdict: Verdict | None
    refusal: Error | None


@dataclass(frozen=True)
class Throttle:
    """Counts requests and checks tokens; with ``enforced`` False limits are counted but never refuse (benchmarks)."""

    admissions: Admissions
    database: Database[IdentityTransaction]
    enforced: bool = True

    async def admit(self, hits: Sequence[Hit], caller: Caller | None, instead: Sequence[Hit]) -> Admitted:
        """Counts ``hits``; with a revoked or stale token, ``instead``, as for a token that does not verify."""
        # One round trip to the shared memory counts the limits and reads the token versions.
        token = PresentedToken(caller.issued, instead) if caller else None
        admission = await self.admissions.admit(hits, token)
        verdicts = admission.verdicts
        refusal: Error | None = None
        if caller is not None:
            try:
                ensure_alive(caller.issued, await self._versions(admission, tuple(caller.issued)))
            # Security: while revocation cannot be checked no token is accepted.
            except ServiceUnavailable as away:
                refusal = away
            except Unauthorized as dead:
                refusal = dead
                if not admission.counted_instead:
                    verdicts = await self._recount(hits, admission, instead)
        return self._admitted(verdicts, refusal)

    def _admitted(self, verdicts: Sequence[Verdict], refusal: Error | None) -> Admitted:
        if not verdicts:
            return Admitted(None, refusal)
        verdict = tightest(tuple(verdicts))
        # A full limit is answered before a dead token: else guessing tokens would never be limited.
        if not verdict.allowed and self.enforced and not isinstance(refusal, ServiceUnavailable):
            return Admitted(verdict, RateLimited(verdict.retry_after))
        return Admitted(verdict, refusal)

    async def _recount(self, hits: Sequence[Hit], admission: Admission, instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        # The database knew that the token is dead, the shared memory did not: the request was counted for its user.
        counted = hits if all(verdict.allowed for verdict in admission.verdicts) else ()
        return await self.admissions.recount(counted, instead) if hits else ()

    async def _versions(self, admission: Admission, subjects: Sequence[str]) -> Mapping[str, int]:
        if admission.token_versions is not None:
            return admission.token_versions
        async with self.database.read_only(EveryTenant()) as read:
            versions = await read.token_versions.of(subjects)
        # The ticket keeps an answer from before a lost memory, or from before a change, from being stored.
        if admission.ticket is not None:
            await self.admissions.remember(versions, admission.ticket)
        return versions
