"""A login, from the user's proof to the token's claims."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from domain.identity.tokens import Claims, Session, membership_in
from domain.identity.users import AccountState, Membership, TenantName, tenant_name


class RenewedHash(Struct, frozen=True):
    """A stronger hash of the same password, to replace ``seen``."""

    seen: str
    hash: str


class TenantChoice(Struct, frozen=True):
    """The tenant of a new session; ``membership`` is None for a Global Token."""

    membership: Membership | None
    smart_auto_switched: bool
    requires_tenant_selection: bool


def choose_tenant(memberships: Sequence[Membership], preferred: UUID | None) -> TenantChoice:
    """Choose the tenant of a login, by the specification's state table; inactive tenants do not count.

    Without a preferred tenant, a user with one membership enters it, a user with several must select one, and a user
    without any gets a Global Token. Raises Forbidden if the preferred tenant is not an active membership.
    """
    active = [membership for membership in memberships if membership.tenant_is_active]
    if preferred is not None:
        return TenantChoice(membership_in(active, preferred), False, False)
    if len(active) == 1:
        return TenantChoice(active[0], True, False)
    return TenantChoice(None, False, len(active) > 1)


def available(state: AccountState) -> list[TenantName]:
    """Return the user's active tenants, for the selection."""
    return [tenant_name(membership) for membership in state.memberships if membership.tenant_is_active]


class Login(Struct, frozen=True, kw_only=True):
    """State of a login in progress.

    It begins with the verified account, its proof methods (RFC 8176, such as ``pwd``), and the requested tenant and
    application. Each step returns it with one more field, in the order below; mypy rejects readers of fields possibly
    still None. ``deadline`` stays None without a grace period. An existing session sets ``session`` from the start.
    """

    state: AccountState
    methods: tuple[str, ...]
    by_password: bool = False
    renewed: RenewedHash | None = None
    preferred: UUID | None = None
    app_id: str | None = None
    choice: TenantChoice | None = None
    deadline: datetime | None = None
    session: Session | None = None
    claims: Claims | None = None

    @property
    def membership(self) -> Membership | None:
        """Membership in the chosen tenant; None for a Global Token."""
        assert self.choice is not None
        return self.choice.membership
