"""Requests to join a tenant. Users who may invite list, approve and decline them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.identity.administration.listing import ParameterReader, Parameters
from application.identity.joining.departures import Departures
from application.ports.database import Database
from application.ports.identity.domains import DomainTransaction, ListedJoinRequest
from application.ports.runtime import Clock, InvitationOutcomes
from application.ports.shared_memory import Cache, profile_key
from application.retry import retry_on_conflict
from domain.errors import Conflict, NotFound
from domain.identity.administration import (
    ensure_fit_membership,
    ensure_may_give,
    given_roles,
    may_let_in,
    roles_named,
)
from domain.identity.domains import JoinRequest, domain_of
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import MEMBER, AccountState, Role
from domain.scope import Caller, Client, EveryTenant, event


class ApprovalForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Body of an approval; by default ``roles`` are the domain's, or ``Member`` if the domain was removed."""

    roles: list[str] | UnsetType = UNSET


USUAL_APPROVAL = ApprovalForm()


class JoinRequestRights(Struct, rename="camel", frozen=True, kw_only=True):
    """Whether the caller may approve a request without naming roles, because they may give the domain's roles."""

    approve: bool


class JoinRequestItem(Struct, rename="camel", kw_only=True):
    """A join request; its id is the id of the account, ``roles`` are the roles that an approval gives by default."""

    id: UUID
    email: str
    full_name: str
    domain: str
    roles: tuple[str, ...]
    created_at: datetime
    may: JoinRequestRights


class JoinRequestPage(Struct, rename="camel", kw_only=True):
    items: list[JoinRequestItem]
    total_count: int
    page: int
    page_size: int
    total_pages: int


class AdmittedMember(Struct, rename="camel", kw_only=True):
    """Membership from an approved join request."""

    user_id: UUID
    tenant_id: UUID
    roles: tuple[str, ...]
    is_default: bool
    joined_at: datetime


@dataclass(frozen=True)
class JoinRequestAdministration:
    database: Database[DomainTransaction]
    departures: Departures
    outcomes: InvitationOutcomes
    cache: Cache
    clock: Clock

    async def page(self, caller: Caller, parameters: Parameters) -> JoinRequestPage:
        """Return pending requests, oldest first."""
        reader = ParameterReader(parameters, ("page", "pageSize"))
        page, size = reader.page(), reader.page_size()
        reader.ensure_valid()
        async with self.database.read_only(EveryTenant()) as read:
            listed, total = await read.join_requests.page(caller.tenant.id, page, size)
            given = await self._given(read, caller.tenant.id) if listed else _Given({}, ())
        items = [_item(caller, found, given.by(found.request)) for found in listed]
        pages = -(-total // size)
        return JoinRequestPage(items=items, total_count=total, page=page, page_size=size, total_pages=pages)

    async def _given(self, read: DomainTransaction, tenant_id: UUID) -> "_Given":
        domains = {listed.domain.domain: listed.domain.role_ids for listed in await read.domains.all(tenant_id)}
        role_ids = [role_id for ids in domains.values() for role_id in ids]
        shown = await read.join_requests.roles(tenant_id, role_ids, MEMBER)
        roles = {role.id: role for role in shown}
        by_domain = {name: [roles[role_id] for role_id in ids if role_id in roles] for name, ids in domains.items()}
        # A tenant's role has priority over a system role of the same name.
        return _Given(by_domain, roles_named([MEMBER], shown))

    @retry_on_conflict
    async def approve(self, caller: Caller, user_id: UUID, form: ApprovalForm, client: Client) -> AdmittedMember:
        """Create the membership. Raises NotFound, Forbidden for roles beyond the caller's, and Conflict."""
        tenant_id, now = caller.tenant.id, self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            # Lock the user before the request, in the same order as a login that creates a request.
            await tx.memberships.lock(user_id)
            request = await self._pending(tx, tenant_id, user_id)
            state = await tx.users.state(user_id)
            if state is None or not _is_still_there(state, request):
                raise Conflict("The account has another address now, or is disabled: decline the request.")
            if state.membership_in(tenant_id) is None:
                roles = await self._roles(tx, caller, request, form)
                ensure_fits_token((*roles, *state.roles), "roles")
                await tx.memberships.save(user_id, tenant_id, [role.id for role in roles], None, now)
                digests = self.departures.digests(state.user.email_key, tenant_id)
                await tx.former_members.readmit(tenant_id, user_id, digests)
                state = await tx.users.state(user_id)
            await tx.join_requests.end(tenant_id, user_id, "approved", now, caller.user_id)
            await tx.audit.add(tenant_id, event("join-request.approved", caller.user_id, user_id, client, now))
            joined = state.membership_in(tenant_id) if state else None
        assert joined is not None
        self.outcomes.count("approved")
        await self.cache.drop([profile_key(user_id)])
        return AdmittedMember(
            user_id=user_id,
            tenant_id=tenant_id,
            roles=tuple(sorted(role.name for role in joined.roles)),
            is_default=joined.is_default,
            joined_at=joined.joined_at,
        )

    @retry_on_conflict
    async def decline(self, caller: Caller, user_id: UUID, client: Client) -> None:
        tenant_id, now = caller.tenant.id, self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            await self._pending(tx, tenant_id, user_id)
            await tx.join_requests.end(tenant_id, user_id, "declined", now, caller.user_id)
            await tx.audit.add(tenant_id, event("join-request.declined", caller.user_id, user_id, client, now))
        self.outcomes.count("refused")

    async def _pending(self, tx: DomainTransaction, tenant_id: UUID, user_id: UUID) -> JoinRequest:
        found = await tx.join_requests.lock(tenant_id, user_id)
        if found is None or found.status != "pending":
            raise NotFound
        return found

    async def _roles(
        self, tx: DomainTransaction, caller: Caller, request: JoinRequest, form: ApprovalForm
    ) -> list[Role]:
        names = form.roles
        if names is UNSET:
            domain = await tx.domains.lock(request.tenant_id, request.domain)
            if domain is not None:
                roles = await tx.received.roles(request.tenant_id, domain.role_ids)
                # Security: the user who set the domain may have held more roles than the approver.
                ensure_may_give(caller, roles)
                ensure_fit_membership(roles)
                return roles
            names = [MEMBER]
        return given_roles(caller, names, await tx.roles.by_names(caller.tenant.id, names))


class _Given(Struct, frozen=True):
    """Default roles of approvals: by domain, and for deleted domains."""

    by_domain: Mapping[str, Sequence[Role]]
    usual: Sequence[Role]

    def by(self, request: JoinRequest) -> Sequence[Role]:
        return self.by_domain.get(request.domain, self.usual)


def _item(caller: Caller, found: ListedJoinRequest, given: Sequence[Role]) -> JoinRequestItem:
    return JoinRequestItem(
        id=found.request.user_id,
        email=found.email,
        full_name=found.full_name,
        domain=found.request.domain,
        roles=tuple(sorted(role.name for role in given)),
        created_at=found.request.created_at,
        may=JoinRequestRights(approve=may_let_in(caller, given)),
    )


def _is_still_there(state: AccountState, request: JoinRequest) -> bool:
    user = state.user
    return user.is_active and user.email_proved and domain_of(user.email_key) == request.domain
