"""A login, from the proof of who its user is to the claims of its token."""

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


class Login(Struct, frozen=True, kw_only=True):
    """A login as far as it has come.

    It begins with the account that was verified, the methods that proved it (RFC 8176, such as ``pwd``), and the
    tenant and application that the client asks for. Each step returns it with one field more, in their order here;
    mypy accepts no reader of a field that may still be None. ``deadline`` stays None without a grace period, and
    ``session`` is given from the start where the session exists already.
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
