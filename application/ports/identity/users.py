"""Users, roles and what belongs to them, as the database keeps them.

Identity reaches over tenants: what a caller may see of it is decided by the use cases, which name the tenant.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.audit import AuditTrail
from application.ports.identity.listing import Listing
from application.ports.outbox import Outbox
from application.ports.revocation import TokenVersions
from domain.identity.permissions import Permission
from domain.identity.users import AccountState, Lockout, Membership, Role, User


class ListedUser(Struct, frozen=True):
    """``roles`` are the names held in the listing's tenant, or as such when it lists all."""

    user: User
    roles: tuple[str, ...]


class RenewedHash(Struct, frozen=True):
    """Of the same password: ``hash`` takes the place of ``seen``."""

    seen: str
    hash: str


class VerifiedIdentity(Struct, frozen=True):
    """Who has just shown who they are: by the password, whose hash may be renewed, or to a social provider."""

    state: AccountState
    by_password: bool
    renewed: RenewedHash | None = None


class Users(Protocol):
    async def state(self, user_id: UUID) -> AccountState | None:
        """Account, memberships of living tenants, roles and counts, all of one snapshot."""
        ...

    async def state_by_email(self, email_key: str) -> AccountState | None: ...

    async def add(self, user: User) -> None:
        """Raises Conflict on ``email`` when the address has an account."""
        ...

    async def save(self, user: User, before: User) -> None:
        """Raises Conflict on ``email`` when the address has another account. A new address ends one-time tokens.

        Only what differs from ``before`` is written: what changed otherwise meanwhile (a password that was reset, a
        confirmation) stays.
        """
        ...

    async def remove(self, user_id: UUID) -> None:
        """Takes the account with its memberships, roles and sessions."""
        ...

    async def page(self, listing: Listing) -> tuple[list[ListedUser], int]:
        """The page and the total. Searches name and e-mail, every word, without case."""
        ...

    async def end_sessions(self, user_id: UUID, at: datetime) -> None:
        """Ends all of the user's sessions."""
        ...


class Memberships(Protocol):
    async def lock(self, user_id: UUID) -> None:
        """Until the transaction ends nobody else changes what this user is and holds; what is read now stays true."""
        ...

    async def save(
        self, user_id: UUID, tenant_id: UUID, role_ids: Sequence[UUID], is_default: bool | None, at: datetime
    ) -> bool:
        """Makes the membership or replaces its roles; answers whether it was made.

        A first membership is the default one; ``is_default`` True moves the mark here, None leaves it.
        """
        ...

    async def visit(self, tenant_id: UUID, at: datetime) -> Membership | None:
        """A super-admin's place in a tenant they do not belong to: no roles there; None when there is none such."""
        ...

    async def set_system_roles(self, user_id: UUID, role_ids: Sequence[UUID]) -> None:
        """Replaces the system roles given to the user as such, outside any membership."""
        ...

    async def remove(self, user_id: UUID, tenant_id: UUID) -> bool:
        """False when there was none. The mark of the default moves to the oldest that is left."""
        ...


class ListedRole(Struct, frozen=True):
    role: Role
    user_count: int


class Roles(Protocol):
    async def visible(self, tenant_id: UUID) -> list[ListedRole]:
        """The tenant's own and the system's, by name; holders are counted here, in ``system`` those as such too."""
        ...

    async def by_names(self, tenant_id: UUID | None, names: Sequence[str]) -> list[Role]:
        """Of the tenant and the system, or of the system alone for None; the tenant's own comes first.

        Until the transaction ends nobody removes them.
        """
        ...

    async def by_id(self, role_id: UUID) -> Role | None: ...

    async def add(self, role: Role) -> None:
        """Raises Conflict on ``name`` when the tenant or the system has a role of that name, without case."""
        ...

    async def save(self, role: Role) -> None:
        """Raises Conflict as ``add`` does."""
        ...

    async def remove(self, role_id: UUID) -> None:
        """Raises Conflict while anybody holds it."""
        ...

    async def held_beside(self, role_id: UUID) -> list[tuple[Role, ...]]:
        """Each different set of further roles that somebody's token names beside this one; the empty one always."""
        ...

    async def lock_super_admins(self) -> list[UUID]:
        """The active users who hold SuperAdmin; until the transaction ends nobody else can lock them."""
        ...


class Attempts(Protocol):
    """Failed logins, counted durably by address and network, whether or not the address has an account."""

    async def reserve(self, email_key: str, network: str, lockout: Lockout, now: datetime) -> bool:
        """One atomic statement before the password is checked: counts an attempt, or answers False while locked.

        ``lockout.attempts_over_all`` of all networks together lock every network that has not logged in before.
        After a pause of FAILURES_FORGOTTEN the count begins anew.
        """
        ...

    async def release(self, email_key: str, network: str) -> None:
        """Gives one reserved attempt back: nothing was checked."""
        ...

    async def forgive(self, email_key: str, network: str, now: datetime) -> None:
        """Gives a reserved attempt back with those before it: the login succeeded from this network."""
        ...

    async def unlock(self, email_key: str) -> None:
        """Ends the lock for every network."""
        ...

    async def locked_until(self, email_key: str, now: datetime) -> datetime | None:
        """When the last of its locks ends, None when there is none."""
        ...


class Permissions(Protocol):
    async def all(self) -> list[Permission]:
        """By name."""
        ...

    async def add(self, permission: Permission) -> None:
        """Raises Conflict on ``name``."""
        ...


class IdentityTransaction(Protocol):
    """The rooms of the database in which users, and what they may do, are kept."""

    @property
    def users(self) -> Users: ...
    @property
    def memberships(self) -> Memberships: ...
    @property
    def roles(self) -> Roles: ...
    @property
    def attempts(self) -> Attempts: ...
    @property
    def permissions(self) -> Permissions: ...
    @property
    def token_versions(self) -> TokenVersions: ...
    @property
    def audit(self) -> AuditTrail: ...
    @property
    def outbox(self) -> Outbox: ...
