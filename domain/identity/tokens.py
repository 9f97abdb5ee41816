"""Access tokens: their claims, the caller they stand for, and the choice of the tenant at login."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from domain.errors import Forbidden
from domain.identity.permissions import smallest
from domain.identity.sessions import Lifetimes, Session
from domain.identity.token_versions import (
    at_issue,
    grants_subject,
    role_subject,
    session_subject,
    tenant_subject,
    user_subject,
)
from domain.identity.users import AccountState, Membership, Role, TenantName, User, tenant_name
from domain.scope import Caller

SELECTOR_SCOPE = "tenant-selector-only"

TokenType = Literal["Tenant", "Global"]


class Claims(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Payload of an access token, by wire names; ``rev`` and ``ver`` are the token versions at its issue."""

    iss: str
    aud: str
    sub: UUID
    jti: UUID
    sid: UUID
    iat: int
    nbf: int
    exp: int
    token_type: TokenType
    permissions: tuple[str, ...]
    roles: tuple[str, ...]
    name: str
    email: str
    rev: int
    ver: dict[str, int]
    tenant_id: UUID | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    app_id: str | UnsetType = UNSET
    super_admin: bool = False


def caller_of(claims: Claims) -> Caller:
    """The caller that verified claims stand for."""
    return Caller(
        user_id=claims.sub,
        session_id=claims.sid,
        tenant_id=None if claims.tenant_id is UNSET else claims.tenant_id,
        name=claims.name,
        email=claims.email,
        roles=claims.roles,
        permissions=claims.permissions,
        is_super_admin=claims.super_admin,
        app_id=None if claims.app_id is UNSET else claims.app_id,
        # A session's version rises once, at its end, so the token need not carry it.
        issued={user_subject(claims.sub): claims.rev, session_subject(claims.sid): 0, **claims.ver},
        expires_at=claims.exp,
    )


class TenantChoice(Struct, frozen=True):
    """The tenant of a new session; ``membership`` is None for a Global Token."""

    membership: Membership | None
    smart_auto_switched: bool
    requires_tenant_selection: bool


def choose_tenant(memberships: Sequence[Membership], preferred: UUID | None) -> TenantChoice:
    """Chooses the tenant of a login, by the specification's state table; inactive tenants do not count.

    With no preference, one membership is entered, several require a selection, none gives a Global Token.
    Raises Forbidden when the preferred tenant is not an active membership.
    """
    active = [membership for membership in memberships if membership.tenant_is_active]
    if preferred is not None:
        return TenantChoice(membership_in(active, preferred), False, False)
    if len(active) == 1:
        return TenantChoice(active[0], True, False)
    return TenantChoice(None, False, len(active) > 1)


def available(state: AccountState) -> list[TenantName]:
    """The active tenants of the user, for the selection."""
    return [tenant_name(membership) for membership in state.memberships if membership.tenant_is_active]


def membership_in(memberships: Sequence[Membership], tenant_id: UUID) -> Membership:
    """The active membership in the tenant. Raises Forbidden, with the same message whether or not the tenant exists."""
    for membership in memberships:
        if membership.tenant_id == tenant_id and membership.tenant_is_active:
            return membership
    raise Forbidden("You are not a member of this tenant.")


def claims_for(
    state: AccountState, membership: Membership | None, session: Session, now: datetime, issue: "Issue"
) -> Claims:
    """Claims of a session's token: for the tenant of ``membership``, or, without one, for choosing a tenant only."""
    roles = state.roles_in(membership) if membership else ()
    lifetime = issue.lifetimes.access if membership else issue.lifetimes.global_access
    user = state.user
    seconds = int(now.timestamp())
    return Claims(
        iss=issue.issuer,
        aud=issue.audience,
        sub=user.id,
        jti=issue.jti,
        sid=session.id,
        iat=seconds,
        nbf=seconds,
        exp=seconds + int(lifetime.total_seconds()),
        token_type="Tenant" if membership else "Global",
        tenant_id=membership.tenant_id if membership else UNSET,
        scope=UNSET if membership else SELECTOR_SCOPE,
        permissions=smallest(name for role in roles for name in role.permissions),
        roles=tuple(sorted({role.name for role in roles})),
        name=user.full_name,
        email=user.email,
        app_id=session.app_id or UNSET,
        # A Global Token gives no rights, not even to a super-admin: it only chooses a tenant.
        super_admin=membership is not None and state.is_super_admin,
        rev=state.token_versions.get(user_subject(user.id), 0),
        ver=at_issue(_stale_subjects(user, membership, roles), state.token_versions),
    )


class Issue(Struct, frozen=True, kw_only=True):
    """Values of an issue: issuer, audience and lifetimes of the service, and the new token's id."""

    issuer: str
    audience: str
    jti: UUID
    lifetimes: Lifetimes


def _stale_subjects(user: User, membership: Membership | None, roles: Sequence[Role]) -> tuple[str, ...]:
    # A Global Token depends on no tenant and no role.
    if membership is None:
        return (grants_subject(user.id),)
    tenant = tenant_subject(membership.tenant_id)
    return (grants_subject(user.id), tenant, *(role_subject(role.id) for role in roles))
