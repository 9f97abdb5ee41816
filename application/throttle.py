"""First step of every request: rate limits are counted, and the token is checked for revocation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from application.ports.shared_memory import Admission, Admissions, PresentedToken
from domain.errors import Error, RateLimited, ServiceUnavailable, TokenExpired, Unauthorized
from domain.limits import Hit, Limit, Verdict, over_all_networks, tightest
from domain.scope import Caller, Client, EveryTenant, ensure_alive


class AboutAccount(Struct, frozen=True, kw_only=True):
    """An account that a request is about, and the hit of its client's address; ``silent`` hides a full limit."""

    email_key: str
    address: Hit
    client: Client
    at: datetime
    silent: bool


class Judged(NamedTuple):
    """Judgement of the shared memory and the database on a request: its limits, and whether its token lives."""

    verdicts: Sequence[Verdict]
    refusal: Error | None = None
    renewed: Caller | None = None


class Admitted(Struct, frozen=True):
    """Result of the first step.

    ``verdict`` is None when no limit was counted; ``refusal`` is the error to answer with, None to go on.
    ``is_silenced``: the request is to be answered as always, and not to be carried out. ``renewed`` is the caller as
    it is now, where the one that was given was out of date. ``counted`` are the hits of a request that may go on.
    """

    verdict: Verdict | None
    refusal: Error | None
    is_silenced: bool = False
    renewed: Caller | None = None
    counted: Sequence[Hit] = ()


@dataclass(slots=True)
class ThrottleCounts:
    """Requests of this process that a limit refused, and checks of a token that asked the database."""

    refused: int = 0
    fallbacks: int = 0


Renewal = Callable[[], Awaitable[Caller]]
"""Reads a caller anew; raises Unauthorized where there is none any more."""


def counted_for(
    limit: Limit, caller: Caller | None, address: Hit, refusal: Error | None
) -> tuple[list[Hit], list[Hit]]:
    """Hits to count, and those to count for a token that turns out to be dead.

    A token that was issued here and has ended counts for its session: its client learns 401, and refreshes, however
    full the limit of an address is that it shares with others.
    """
    if caller is not None:
        return [Hit(limit, caller.counted_as)], [Hit(limit, f"session:{caller.session_id}")]
    ended = refusal.session_id if isinstance(refusal, TokenExpired) else None
    return [address if ended is None else Hit(limit, f"session:{ended}")], []


@dataclass(frozen=True)
class Throttle:
    """Counts requests and checks tokens; with ``enforced`` False limits are counted but never refuse (benchmarks)."""

    admissions: Admissions
    database: Database[IdentityTransaction]
    enforced: bool = True
    counts: ThrottleCounts = field(default_factory=ThrottleCounts)

    async def admit(
        self, hits: Sequence[Hit], caller: Caller | None, instead: Sequence[Hit], renewal: Renewal | None = None
    ) -> Admitted:
        """Counts ``hits``; with a revoked or stale token, ``instead``, as for a token that does not verify.

        A caller with a ``renewal`` is told of no staleness: it is read anew, and only its end refuses the request.
        """
        judged = await self._judged(hits, caller, instead, renewal)
        return self._admitted(judged.verdicts, judged.refusal, hits, judged.renewed)

    async def _judged(
        self, hits: Sequence[Hit], caller: Caller | None, instead: Sequence[Hit], renewal: Renewal | None
    ) -> Judged:
        # One round trip to the shared memory counts the limits and reads the token versions.
        token = PresentedToken(caller.issued, instead) if caller else None
        admission = await self.admissions.admit(hits, token)
        if caller is None:
            return Judged(admission.verdicts)
        try:
            ensure_alive(caller.issued, await self._versions(admission, tuple(caller.issued)))
        # Security: while revocation cannot be checked no token is accepted.
        except ServiceUnavailable as away:
            return Judged(admission.verdicts, away)
        except Unauthorized as dead:
            if renewal is not None:
                return await self._renewed(hits, admission, instead, renewal)
            counted = admission.counted_instead
            return Judged(admission.verdicts if counted else await self._recount(hits, admission, instead), dead)
        return Judged(admission.verdicts)

    async def _renewed(
        self, hits: Sequence[Hit], admission: Admission, instead: Sequence[Hit], renewal: Renewal
    ) -> Judged:
        try:
            # Read from the database in one snapshot with its token versions, which are never behind the shared copy.
            renewed = await renewal()
        except Error as ended:
            counted = admission.counted_instead
            return Judged(admission.verdicts if counted else await self._recount(hits, admission, instead), ended)
        verdicts = admission.verdicts
        if admission.counted_instead and hits:
            taken = instead if all(verdict.allowed for verdict in verdicts) else ()
            verdicts = await self.admissions.recount(taken, hits)
        return Judged(verdicts, None, renewed)

    async def take_back(self, hits: Sequence[Hit]) -> None:
        """Uncounts a request that went on with these hits, and was refused behind them."""
        await self.admissions.recount(hits, ())

    async def ensure_alive(self, caller: Caller) -> None:
        """Raises what a request of the caller would be refused with now; nothing is counted."""
        if (refusal := (await self.admit([], caller, [])).refusal) is not None:
            raise refusal

    async def admit_about(
        self, about: AboutAccount, caller: Caller | None, instead: Sequence[Hit], renewal: Renewal | None = None
    ) -> Admitted:
        """Counts a request about an account: for the client's address, and for the e-mail over all networks.

        A network that the account has logged in from lately is not held up by what strangers ask for elsewhere. The
        token of a ``caller`` is judged as by ``admit``: one that is dead counts for nobody's e-mail.
        """
        hits = (about.address, Hit(over_all_networks(about.address.limit), f"email:{about.email_key}"))
        judged = await self._judged(hits, caller, instead, renewal)
        # Security: an e-mail in the body must not make a revoked token acceptable.
        if judged.refusal is not None:
            return self._admitted(judged.verdicts[:1], judged.refusal)
        return replace(await self._admitted_about(about, hits, judged.verdicts), renewed=judged.renewed)

    async def _admitted_about(self, about: AboutAccount, hits: Sequence[Hit], verdicts: Sequence[Verdict]) -> Admitted:
        by_address, by_email = verdicts
        if by_email.allowed or not self.enforced:
            # A limit that never refuses is not shown.
            return self._admitted((by_address,) if about.silent else (by_address, by_email), None, hits)
        # A full limit counted nothing: the address is counted alone, before the database is asked about its network.
        (by_address,) = await self.admissions.recount((), [about.address])
        if not by_address.allowed:
            return self._admitted((by_address,), None)
        async with self.database.read_only(EveryTenant()) as read:
            if await read.attempts.is_known(about.email_key, about.client.network, about.at):
                return self._admitted((by_address,), None, [about.address])
        if about.silent:
            return Admitted(by_address, None, is_silenced=True)
        return self._refused(by_email)

    def _admitted(
        self,
        verdicts: Sequence[Verdict],
        refusal: Error | None,
        hits: Sequence[Hit] = (),
        renewed: Caller | None = None,
    ) -> Admitted:
        if not verdicts:
            return Admitted(None, refusal, renewed=renewed)
        verdict = tightest(tuple(verdicts))
        # A full limit is answered before a dead token: else guessing tokens would never be limited.
        if not verdict.allowed and self.enforced and not isinstance(refusal, ServiceUnavailable):
            return self._refused(verdict)
        # a full limit that refuses nobody has counted nothing
        return Admitted(verdict, refusal, renewed=renewed, counted=hits if verdict.allowed else ())

    def _refused(self, verdict: Verdict) -> Admitted:
        self.counts.refused += 1
        return Admitted(verdict, RateLimited(verdict.retry_after))

    async def _recount(self, hits: Sequence[Hit], admission: Admission, instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        # The database knew that the token is dead, the shared memory did not: the request was counted for its user.
        counted = hits if all(verdict.allowed for verdict in admission.verdicts) else ()
        return await self.admissions.recount(counted, instead) if hits else ()

    async def _versions(self, admission: Admission, subjects: Sequence[str]) -> Mapping[str, int]:
        if admission.token_versions is not None:
            return admission.token_versions
        self.counts.fallbacks += 1
        async with self.database.read_only(EveryTenant()) as read:
            versions = await read.token_versions.of(subjects)
        # The ticket keeps an answer from before a lost memory, or from before a change, from being stored.
        if admission.ticket is not None:
            await self.admissions.remember(versions, admission.ticket)
        return versions
