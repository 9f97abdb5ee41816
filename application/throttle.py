"""First step of every request: it counts rate limits and checks the token for revocation."""

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
    """The account that a request concerns, and the hit of its client's address.

    With ``silent``, the response hides a reached limit.
    """

    email_key: str
    address: Hit
    client: Client
    at: datetime
    silent: bool


class Judged(NamedTuple):
    """Judgement of a request by the shared memory and the database: its limits, and its token's validity."""

    verdicts: Sequence[Verdict]
    refusal: Error | None = None
    renewed: Caller | None = None


class Admitted(Struct, frozen=True):
    """Result of the first step of a request.

    ``verdict`` is None if no limit was counted; ``refusal`` is the error to return, or None to continue.
    ``is_silenced``: respond as usual, but do not execute the request. ``renewed`` is the current caller if the given
    one was outdated. ``counted`` are the hits of a request that may continue.
    """

    verdict: Verdict | None
    refusal: Error | None
    is_silenced: bool = False
    renewed: Caller | None = None
    counted: Sequence[Hit] = ()


@dataclass(slots=True)
class ThrottleCounts:
    """Requests refused by a limit in this process, and token checks that needed the database."""

    refused: int = 0
    fallbacks: int = 0


Renewal = Callable[[], Awaitable[Caller]]
"""Reads a caller again; raises Unauthorized if the caller no longer exists."""


def counted_for(
    limit: Limit, caller: Caller | None, network: str, refusal: Error | None
) -> tuple[list[Hit], list[Hit]]:
    """Return the hits to count, and the hits to count instead if the token is dead.

    An expired token of this service counts for its session, so that its client gets 401 and refreshes, even if a shared
    address has exhausted its limit.
    """
    if caller is not None:
        return [Hit(limit, caller.counted_as)], [Hit(limit, f"session:{caller.session_id}")]
    ended = refusal.session_id if isinstance(refusal, TokenExpired) else None
    return [Hit(limit, f"address:{network}" if ended is None else f"session:{ended}")], []


@dataclass(frozen=True)
class Throttle:
    """Counts requests and checks tokens; with ``enforced`` False limits never refuse (benchmarks)."""

    admissions: Admissions
    database: Database[IdentityTransaction]
    enforced: bool = True
    counts: ThrottleCounts = field(default_factory=ThrottleCounts)

    async def admit(
        self, hits: Sequence[Hit], caller: Caller | None, instead: Sequence[Hit], renewal: Renewal | None = None
    ) -> Admitted:
        """Count ``hits``, or ``instead`` if the caller's token is revoked or stale.

        With a ``renewal``, a stale token is not an error: the function reads the caller again, and refuses only a
        caller that has ended.
        """
        judged = await self._judged(hits, caller, instead, renewal)
        return self._admitted(judged.verdicts, judged.refusal, hits, judged.renewed)

    async def _judged(
        self, hits: Sequence[Hit], caller: Caller | None, instead: Sequence[Hit], renewal: Renewal | None
    ) -> Judged:
        # Use one round trip to count the limits and to read the token versions.
        token = PresentedToken(caller.issued, instead) if caller else None
        admission = await self.admissions.admit(hits, token)
        # The shared memory returns the token's versions themselves if all are current.
        if caller is None or admission.token_versions is caller.issued:
            return Judged(admission.verdicts)
        try:
            ensure_alive(caller.issued, await self._versions(admission, tuple(caller.issued)))
        # Security: accept no token while revocation cannot be checked.
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
            # The renewal reads the caller and their token versions in one snapshot. These versions are never behind the
            # shared copy.
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
        """Refund the hits of a request refused after they were counted."""
        await self.admissions.recount(hits, ())

    async def ensure_alive(self, caller: Caller) -> None:
        """Raise the error of a refused caller; count nothing."""
        if (refusal := (await self.admit([], caller, [])).refusal) is not None:
            raise refusal

    async def alive(self, issued: Sequence[Mapping[str, int]]) -> list[bool]:
        """Return for each token, given as its versions at issue, whether it is valid; count nothing.

        Raises ServiceUnavailable.
        """
        known = await self.admissions.alive(issued)
        versions = known.versions
        if unknown := {subject for each in issued for subject in each if subject not in versions}:
            versions = {**versions, **await self._read_versions(tuple(unknown), known.ticket)}
        return [all(versions.get(subject, 0) <= version for subject, version in each.items()) for each in issued]

    async def versions(self, subjects: Sequence[str]) -> Mapping[str, int]:
        """Return the present versions, as the database has them. Raises ServiceUnavailable."""
        return await self._read_versions(subjects, None)

    async def admit_about(
        self, about: AboutAccount, caller: Caller | None, instead: Sequence[Hit], renewal: Renewal | None = None
    ) -> Admitted:
        """Count a request about an account: for the client's address, and for the e-mail over all networks.

        Requests from elsewhere do not block a network with a recent login to the account. As in ``admit``, a dead token
        does not count for any e-mail.
        """
        hits = (about.address, Hit(over_all_networks(about.address.limit), f"email:{about.email_key}"))
        judged = await self._judged(hits, caller, instead, renewal)
        # Security: refuse a revoked token, even if the body names an e-mail.
        if judged.refusal is not None:
            return self._admitted(judged.verdicts[:1], judged.refusal)
        return replace(await self._admitted_about(about, hits, judged.verdicts), renewed=judged.renewed)

    async def _admitted_about(self, about: AboutAccount, hits: Sequence[Hit], verdicts: Sequence[Verdict]) -> Admitted:
        by_address, by_email = verdicts
        if by_email.allowed or not self.enforced:
            # With ``silent``, the e-mail's limit causes no visible refusal, so omit the limit from the response.
            return self._admitted((by_address,) if about.silent else (by_address, by_email), None, hits)
        # The full limit of the e-mail counted no hit: count only the address before the read from the database.
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
        # Report a full limit before a dead token: otherwise guessing tokens would never be limited.
        if not verdict.allowed and self.enforced and not isinstance(refusal, ServiceUnavailable):
            return self._refused(verdict)
        # A full limit without a refusal counted nothing.
        return Admitted(verdict, refusal, renewed=renewed, counted=hits if verdict.allowed else ())

    def _refused(self, verdict: Verdict) -> Admitted:
        self.counts.refused += 1
        return Admitted(verdict, RateLimited(verdict.retry_after))

    async def _recount(self, hits: Sequence[Hit], admission: Admission, instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        # The shared memory did not know that the token is dead, so ``admit`` has counted the request for its user.
        counted = hits if all(verdict.allowed for verdict in admission.verdicts) else ()
        return await self.admissions.recount(counted, instead) if hits else ()

    async def _versions(self, admission: Admission, subjects: Sequence[str]) -> Mapping[str, int]:
        if admission.token_versions is not None:
            return admission.token_versions
        return await self._read_versions(subjects, admission.ticket)

    async def _read_versions(self, subjects: Sequence[str], ticket: str | None) -> Mapping[str, int]:
        self.counts.fallbacks += 1
        async with self.database.read_only(EveryTenant()) as read:
            versions = await read.token_versions.of(subjects)
        # The ticket prevents storing an answer older than a lost memory or a change.
        if ticket is not None:
            await self.admissions.remember(versions, ticket)
        return versions
