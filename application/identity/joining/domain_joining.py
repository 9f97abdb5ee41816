"""Joining by domain: at login, a user with a proved address at a tenant's domain joins or requests to join."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec.structs import replace

from application.identity.joining.approvers import approvers
from application.identity.joining.departures import Departures
from application.ports.database import Database
from application.ports.identity.domains import DomainTransaction
from application.ports.identity.users import notice
from application.ports.runtime import Clock, Ids, InvitationOutcomes
from application.retry import retry_on_conflict
from domain.errors import NotFound, ValidationError
from domain.identity.domains import JoinRequest, TenantDomain, domain_of
from domain.identity.invitations import may_still_give
from domain.identity.logins import Login
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import AccountState, Role
from domain.scope import Client, EveryTenant, event

KNOWN_FOR = timedelta(seconds=30)
"""Lifetime of the cached domain names, so that logins of users at other domains need no query."""

SETS_DOMAINS = "update:tenant-settings"


@dataclass
class KnownDomains:
    """Domains for joining, as last read by the process."""

    names: frozenset[str] = frozenset()
    read_at: datetime | None = None

    def are_old(self, now: datetime) -> bool:
        return self.read_at is None or not self.read_at <= now < self.read_at + KNOWN_FOR


@dataclass(frozen=True)
class DomainJoining:
    database: Database[DomainTransaction]
    departures: Departures
    outcomes: InvitationOutcomes
    clock: Clock
    ids: Ids
    known: KnownDomains = field(default_factory=KnownDomains)

    async def joined(self, login: Login, client: Client) -> Login:
        """Return the login with a membership if the domain of the user's address gives one.

        The user needs a proved address and must have passed the second factor.
        """
        state = login.state
        is_complete = not state.factors.kinds or "mfa" in login.methods
        if not state.user.email_proved or not is_complete:
            return login
        domain = domain_of(state.user.email_key)
        now = self.clock.now()
        if self.known.are_old(now):
            await self._read_domains(now)
        if domain not in self.known.names:
            return login
        return replace(login, state=await self._come_in(state, domain, client))

    async def _read_domains(self, now: datetime) -> None:
        before = self.known.read_at
        # Concurrent logins use the old result instead of another query.
        self.known.read_at = now
        try:
            async with self.database.read_only(EveryTenant()) as read:
                self.known.names = frozenset(await read.domains.joinable())
        except BaseException:
            self.known.read_at = before
            raise

    @retry_on_conflict
    async def _come_in(self, seen: AccountState, domain: str, client: Client) -> AccountState:
        async with self.database.read_only(EveryTenant()) as read:
            found = await read.domains.verified(domain)
        if found is None or found.mode == "off" or _is_member(seen, found):
            return seen
        outcome = None
        async with self.database.transaction(EveryTenant()) as tx:
            # Lock before reading: the address may have changed, or another login joined.
            await tx.memberships.lock(seen.user.id)
            state = await tx.users.state(seen.user.id)
            current = await tx.domains.lock(found.tenant_id, domain)
            if state is None or current is None or not _may_come_in(state, current):
                # A concurrent login may have created this membership.
                return state or seen
            # Check again: the tenant may have been closed since.
            tenant = await tx.memberships.visit(current.tenant_id, self.clock.now())
            if tenant is None or not tenant.tenant_is_active:
                return seen
            # Security: a former member must not rejoin with only the address or a new account.
            digests = self.departures.digests(state.user.email_key, current.tenant_id)
            if not await tx.former_members.is_former(current.tenant_id, state.user.id, digests):
                try:
                    outcome = await self._join_or_ask(tx, state, current, client)
                except NotFound:
                    return seen  # the tenant was deleted concurrently
            after = await tx.users.state(seen.user.id)
        if outcome is not None:
            self.outcomes.count(outcome)
        return after or seen

    async def _join_or_ask(
        self, tx: DomainTransaction, state: AccountState, domain: TenantDomain, client: Client
    ) -> str | None:
        now, user = self.clock.now(), state.user
        roles = await tx.received.roles(domain.tenant_id, domain.role_ids)
        if domain.mode == "join" and await self._may_be_given(tx, domain, roles) and _fit(roles, state):
            await tx.memberships.save(user.id, domain.tenant_id, [role.id for role in roles], None, now)
            line = event("membership.joined-by-domain", user.id, user.id, client, now)
            await tx.audit.add(domain.tenant_id, line)
            return "joined"
        request = JoinRequest(tenant_id=domain.tenant_id, user_id=user.id, domain=domain.domain, created_at=now)
        # A login does not repeat a declined request.
        if not await tx.join_requests.add(request):
            return None
        await self._tell(tx, domain, now)
        await tx.audit.add(domain.tenant_id, event("join-request.made", user.id, user.id, client, now))
        return "requested"

    async def _may_be_given(self, tx: DomainTransaction, domain: TenantDomain, roles: list[Role]) -> bool:
        # The operator has set the domain. An operator has no account, and may give any role.
        if domain.set_by is None:
            return True
        giver = await tx.users.state(domain.set_by)
        return may_still_give(giver, domain.tenant_id, roles, SETS_DOMAINS)

    async def _tell(self, tx: DomainTransaction, domain: TenantDomain, now: datetime) -> None:
        for decider in await approvers(tx, domain.tenant_id):
            await tx.outbox.add(notice(self.ids.new(), "join-request", decider, now, about=domain.domain))


def _is_member(state: AccountState, domain: TenantDomain) -> bool:
    return any(held.tenant_id == domain.tenant_id for held in state.memberships)


def _may_come_in(state: AccountState, domain: TenantDomain) -> bool:
    is_here = state.user.email_proved and domain_of(state.user.email_key) == domain.domain
    is_open = domain.state == "verified" and domain.mode != "off"
    return is_here and is_open and state.user.is_active and not _is_member(state, domain)


def _fit(roles: list[Role], state: AccountState) -> bool:
    try:
        ensure_fits_token((*roles, *state.roles), "roles")
    except ValidationError:
        # Roles that exceed the limit of the token must not prevent the login, so do not give them.
        return False
    return True
