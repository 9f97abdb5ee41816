"""Users, memberships, roles and permissions in the database.

Identity spans tenants: use cases name the tenant, and decide what a caller may see.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from application.ports.database import AuditTrail, Mail, MailKind, Outbox
from application.ports.shared_memory import TokenVersions
from domain.identity.users import AccountState, Membership, Role, User
from domain.lockout import Lockout
from domain.scope import Client, Permission

# All adapters use this text, so that the memory adapter answers like PostgreSQL.
ROLE_HELD = "Users, members of tenants or service accounts still hold this role: remove it from them first."
PERMISSION_TAKEN = "There is a permission of this name already."


class Listing(Struct, frozen=True, kw_only=True):
    """A page of users or tenants.

    ``tenant_id`` None lists all; ``role`` is a role's name; ``ids`` None does not filter by id.

    ``sort_by`` is a Python field name of the listed objects; the id breaks ties.
    """

    page: int = 1
    page_size: int = 20
    search: str | None = None
    tenant_id: UUID | None = None
    role: str | None = None
    is_active: bool | None = None
    ids: tuple[UUID, ...] | None = None
    sort_by: str = "created_at"
    descending: bool = True


class ListedUser(Struct, frozen=True):
    """A user in a list; ``roles`` are names of roles in the listed tenant, or of system roles in a list of all tenants.

    ``is_owner`` says whether the user is an owner of the listed tenant.
    """

    user: User
    roles: tuple[str, ...]
    is_owner: bool = False


class HeldRole(Struct, frozen=True):
    """A role of a member, by the names of the role and its tenant."""

    user_id: UUID
    tenant: str
    role: str


class Users(Protocol):
    async def state(self, user_id: UUID) -> AccountState | None:
        """Return the account with its roles, token versions, and memberships in live tenants, in one snapshot."""
        ...

    async def state_by_email(self, email_key: str) -> AccountState | None: ...

    async def add(self, user: User) -> None:
        """Store a new account. Raises Conflict on ``email`` if the address has an account."""
        ...

    async def save(self, user: User, before: User) -> None:
        """Store only the differences from ``before``. Raises Conflict on ``email`` if the address has another account.

        Concurrent changes to other columns, such as a reset password, remain. A new address ends one-time tokens and
        links to social identities.
        """
        ...

    async def remove(self, user_id: UUID) -> None:
        """Delete the account with its memberships, roles and sessions."""
        ...

    async def page(self, listing: Listing) -> tuple[list[ListedUser], int]:
        """Return the page and the total; search finds every word in name or e-mail, ignoring case."""
        ...

    async def roles_in_tenants(self, user_ids: Sequence[UUID]) -> list[HeldRole]:
        """Return the users' roles in non-deleted tenants, by the tenant's identifier and the role."""
        ...

    async def end_sessions(self, user_id: UUID, at: datetime) -> None:
        """End every session of the user."""
        ...


class Memberships(Protocol):
    async def lock(self, user_id: UUID) -> None:
        """Lock the user's account, memberships and roles until the transaction ends; later reads are current."""
        ...

    async def save(
        self, user_id: UUID, tenant_id: UUID, role_ids: Sequence[UUID], is_default: bool | None, at: datetime
    ) -> bool:
        """Create the membership or replace its roles; return True if created.

        A user's first membership in a live tenant becomes the default. With ``is_default`` True this one becomes the
        default, with None the default remains. Raises NotFound if the tenant is deleted; otherwise locks the tenant
        against deletion until the transaction ends.
        """
        ...

    async def visit(self, tenant_id: UUID, at: datetime) -> Membership | None:
        """Return a membership without roles for a super-admin who visits another tenant; None for an unknown tenant."""
        ...

    async def set_system_roles(self, user_id: UUID, role_ids: Sequence[UUID]) -> None:
        """Replace the user's system roles, held outside memberships."""
        ...

    async def remove(self, user_id: UUID, tenant_id: UUID) -> bool:
        """End the membership; return False if it does not exist.

        If it was the default, the user's oldest remaining membership in a live tenant becomes the default.
        """
        ...

    async def lock_admins(self, tenant_id: UUID) -> list[UUID]:
        """Return active members with Admin, in the tenant or as a system role, and lock out other calls."""
        ...

    async def set_owner(self, user_id: UUID, tenant_id: UUID, is_owner: bool) -> bool:
        """Make a member an owner, or remove ownership; return False if nothing changes."""
        ...

    async def lock_owners(self, tenant_id: UUID) -> list[UUID]:
        """Return active owners of the tenant; other calls wait until the transaction ends."""
        ...


class ListedRole(Struct, frozen=True):
    """A role with the number of its holders."""

    role: Role
    user_count: int


class Roles(Protocol):
    async def visible(self, tenant_id: UUID) -> list[ListedRole]:
        """Return the roles of the tenant and of the system by name, with the number of their holders in this tenant.

        In the tenant ``system``, the number includes users with system roles outside memberships.
        """
        ...

    async def by_names(self, tenant_id: UUID | None, names: Sequence[str]) -> list[Role]:
        """Return roles of the tenant and of the system, the tenant's first; for None only the system's.

        Locks them against removal until the transaction ends.
        """
        ...

    async def lock(self, role_id: UUID) -> Role | None:
        """Return the role, locked against change, removal and assignment until the transaction ends."""
        ...

    async def add(self, role: Role) -> None:
        """Store a new role. Raises Conflict on ``name``, compared without case in the tenant and the system."""
        ...

    async def save(self, role: Role) -> None:
        """Store the changed role. Raises Conflict as ``add`` does, unless only the case of the name changes."""
        ...

    async def remove(self, role_id: UUID) -> None:
        """Delete the role. Raises Conflict while a user, a member of any tenant or a service account holds it."""
        ...

    async def held_beside(self, role_id: UUID) -> list[tuple[Role, ...]]:
        """Return the distinct sets of other roles in tokens with this role; always includes the empty set."""
        ...

    async def lock_super_admins(self) -> list[UUID]:
        """Return the active holders of SuperAdmin, locked until the transaction ends."""
        ...


class Attempts(Protocol):
    """Failed logins per address and network, for addresses with and without an account."""

    async def reserve(self, email_key: str, network: str, lockout: Lockout, now: datetime) -> bool:
        """Count an attempt atomically, before the password check; return False while the address is locked.

        ``lockout.attempts_over_all`` failures from all networks together lock the address for every unknown network
        (``is_known``). The count restarts after a pause of FAILURES_FORGOTTEN.
        """
        ...

    async def release(self, email_key: str, network: str) -> None:
        """Refund one reserved attempt, because the service did not check the password."""
        ...

    async def forgive(self, email_key: str, network: str, now: datetime) -> None:
        """Reset the network's count after a successful login, and mark the network known."""
        ...

    async def is_known(self, email_key: str, network: str, now: datetime) -> bool:
        """Return whether the last successful login from the network is younger than NETWORK_FORGOTTEN."""
        ...

    async def unlock(self, email_key: str) -> None:
        """Lift the lock of the address for every network."""
        ...

    async def locked_until(self, email_key: str, now: datetime) -> datetime | None:
        """Return the end of the last lock of the address, or None if it was never locked."""
        ...


class Permissions(Protocol):
    """Permissions added by super-admins."""

    async def all(self) -> list[Permission]:
        """Return every permission, by name."""
        ...

    async def add(self, permission: Permission) -> None:
        """Store a new permission. Raises Conflict on ``name``."""
        ...


class AddressMark(Struct, frozen=True):
    """Mark on the mailbox of a former member; it remains after the deletion of the account."""

    tenant_id: UUID
    digest: bytes


class FormerMembers(Protocol):
    """Marks of former members. The end of a membership marks the account; ``mark`` marks the mailbox."""

    async def mark(self, marks: Sequence[AddressMark], at: datetime) -> None:
        """Store the marks; existing ones count from ``at`` on."""
        ...

    async def tenants_of(self, user_id: UUID) -> list[UUID]:
        """Return former tenants of the account, in order."""
        ...

    async def is_former(self, tenant_id: UUID, user_id: UUID, digests: Sequence[bytes]) -> bool:
        """Return whether a membership of the account in the tenant ever ended, or its mailbox has a mark."""
        ...

    async def readmit(self, tenant_id: UUID, user_id: UUID, digests: Sequence[bytes]) -> None:
        """Remove the tenant's marks on the account and the mailbox."""
        ...


class IdentityTransaction(Protocol):
    """Database parts with users and their rights."""

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


class MemberTransaction(IdentityTransaction, Protocol):
    """Database parts for beginning and ending memberships."""

    @property
    def former_members(self) -> FormerMembers: ...


def own_notice(mail_id: UUID, kind: MailKind, user: User, client: Client, at: datetime, *, about: str = "") -> Mail:
    """Return a notice to a user about their own action on their account, in the language of ``client``."""
    return replace(notice(mail_id, kind, user, at, client=client, about=about), language=client.language)


def notice(
    mail_id: UUID, kind: MailKind, user: User, at: datetime, *, client: Client | None = None, about: str = ""
) -> Mail:
    """Return a notice to a user about an action of another user or of the system.

    ``client`` and language are those of the acting user.
    """
    address = "" if client is None else client.address
    return Mail(id=mail_id, kind=kind, recipient=user.email, name=user.full_name, address=address, at=at, about=about)
