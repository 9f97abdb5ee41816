"""Users, memberships, roles and permissions, as the database keeps them.

Identity reaches over tenants: use cases decide what a caller may see, and name the tenant.
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
from domain.limits import Lockout
from domain.scope import Client, Permission

# Said by every adapter alike: the twin of a service in memory answers as PostgreSQL does.
ROLE_HELD = "Users, members of tenants or service accounts still hold this role: take it from them first."
PERMISSION_TAKEN = "There is a permission of this name already."


class Listing(Struct, frozen=True, kw_only=True):
    """A page of users or tenants. ``tenant_id`` None lists all; ``role`` is a role's name; ``ids`` None asks for none.

    ``sort_by`` is a Python field name of what is listed; ties are broken by id.
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
    """A user in a list; ``roles`` are names held in the listed tenant, or system roles when all tenants are listed.

    ``is_owner`` is of the listed tenant.
    """

    user: User
    roles: tuple[str, ...]
    is_owner: bool = False


class HeldRole(Struct, frozen=True):
    """A role that a user holds as a member of a tenant, both by name."""

    user_id: UUID
    tenant: str
    role: str


class Users(Protocol):
    async def state(self, user_id: UUID) -> AccountState | None:
        """The account in one snapshot with its roles, token versions, and memberships in tenants that exist."""
        ...

    async def state_by_email(self, email_key: str) -> AccountState | None: ...

    async def add(self, user: User) -> None:
        """Stores a new account. Raises Conflict on ``email`` when the address has an account."""
        ...

    async def save(self, user: User, before: User) -> None:
        """Stores what differs from ``before``. Raises Conflict on ``email`` when the address has another account.

        Other columns keep what was stored meanwhile, such as a reset password. A new address ends one-time tokens, and
        the links to social identities.
        """
        ...

    async def remove(self, user_id: UUID) -> None:
        """Deletes the account with its memberships, roles and sessions."""
        ...

    async def page(self, listing: Listing) -> tuple[list[ListedUser], int]:
        """The page and the total; the search looks for every word in name and e-mail, without case."""
        ...

    async def roles_in_tenants(self, user_ids: Sequence[UUID]) -> list[HeldRole]:
        """Roles of the users' memberships in tenants that are not deleted, by the tenant's identifier and the role."""
        ...

    async def end_sessions(self, user_id: UUID, at: datetime) -> None:
        """Ends every session of the user."""
        ...


class Memberships(Protocol):
    async def lock(self, user_id: UUID) -> None:
        """Locks the user's account, memberships and roles until the transaction ends; reads after it are current."""
        ...

    async def save(
        self, user_id: UUID, tenant_id: UUID, role_ids: Sequence[UUID], is_default: bool | None, at: datetime
    ) -> bool:
        """Makes the membership or replaces its roles; True when it was made.

        The first one in a tenant that is not deleted is the default; ``is_default`` True makes this one the default,
        None leaves it. Raises NotFound when the tenant is deleted; otherwise nobody deletes it until the transaction
        ends.
        """
        ...

    async def visit(self, tenant_id: UUID, at: datetime) -> Membership | None:
        """A super-admin's membership since ``at``, without roles, in another tenant; None for an unknown tenant."""
        ...

    async def set_system_roles(self, user_id: UUID, role_ids: Sequence[UUID]) -> None:
        """Replaces the user's system roles, which are held outside memberships."""
        ...

    async def remove(self, user_id: UUID, tenant_id: UUID) -> bool:
        """Ends the membership; False when there was none.

        If it was the default, the oldest one left in a tenant that is not deleted becomes it.
        """
        ...

    async def lock_admins(self, tenant_id: UUID) -> list[UUID]:
        """Active members who hold Admin, there or as a system role; others who ask wait until the transaction ends."""
        ...

    async def set_owner(self, user_id: UUID, tenant_id: UUID, is_owner: bool) -> bool:
        """Makes a member an owner, or one no more; False when nothing changes."""
        ...

    async def lock_owners(self, tenant_id: UUID) -> list[UUID]:
        """Active members who own the tenant; others who ask wait until the transaction ends."""
        ...


class ListedRole(Struct, frozen=True):
    """A role with the number of its holders."""

    role: Role
    user_count: int


class Roles(Protocol):
    async def visible(self, tenant_id: UUID) -> list[ListedRole]:
        """The tenant's and the system's roles by name, with their holders in this tenant.

        In the tenant ``system``, holders of system roles outside memberships count too.
        """
        ...

    async def by_names(self, tenant_id: UUID | None, names: Sequence[str]) -> list[Role]:
        """Roles of the tenant and of the system, the tenant's first; for None of the system alone.

        They are locked until the transaction ends: nobody removes them meanwhile.
        """
        ...

    async def lock(self, role_id: UUID) -> Role | None:
        """The role; until the transaction ends nobody changes or removes it, and nobody is given it."""
        ...

    async def add(self, role: Role) -> None:
        """Stores a new role. Raises Conflict on ``name``, compared without case in the tenant and the system."""
        ...

    async def save(self, role: Role) -> None:
        """Stores the changed role. Raises Conflict as ``add`` does, where the name changes by more than case."""
        ...

    async def remove(self, role_id: UUID) -> None:
        """Deletes the role. Raises Conflict while a user, a member of any tenant or a service account holds it."""
        ...

    async def held_beside(self, role_id: UUID) -> list[tuple[Role, ...]]:
        """Sets of further roles in tokens that carry this role, each set once; the empty set is always among them."""
        ...

    async def lock_super_admins(self) -> list[UUID]:
        """The active holders of SuperAdmin, locked until the transaction ends."""
        ...


class Attempts(Protocol):
    """Failed logins, stored per address and network, whether or not the address has an account."""

    async def reserve(self, email_key: str, network: str, lockout: Lockout, now: datetime) -> bool:
        """Counts an attempt in one atomic statement, before the password is checked; False while locked.

        ``lockout.attempts_over_all`` failures from all networks together lock every network that is not known
        (``is_known``). After a pause of FAILURES_FORGOTTEN counting starts again.
        """
        ...

    async def release(self, email_key: str, network: str) -> None:
        """Takes one reserved attempt back: nothing was checked."""
        ...

    async def forgive(self, email_key: str, network: str, now: datetime) -> None:
        """Resets the network's count after a successful login; the network is known from then on."""
        ...

    async def is_known(self, email_key: str, network: str, now: datetime) -> bool:
        """Whether the last successful login from the network is younger than NETWORK_FORGOTTEN."""
        ...

    async def unlock(self, email_key: str) -> None:
        """Lifts the lock of the address for every network."""
        ...

    async def locked_until(self, email_key: str, now: datetime) -> datetime | None:
        """The end of the last lock of the address, None without one."""
        ...


class Permissions(Protocol):
    """Permissions that super-admins added."""

    async def all(self) -> list[Permission]:
        """Every permission, by name."""
        ...

    async def add(self, permission: Permission) -> None:
        """Stores a new permission. Raises Conflict on ``name``."""
        ...


class AddressMark(Struct, frozen=True):
    """Mark on a mailbox whose owner was a member of the tenant; outlives the account."""

    tenant_id: UUID
    digest: bytes


class FormerMembers(Protocol):
    """Marks of former members: on an account by the end of a membership, on a mailbox by ``mark``."""

    async def mark(self, marks: Sequence[AddressMark], at: datetime) -> None:
        """Stores the marks; those that are there count from ``at`` on."""
        ...

    async def tenants_of(self, user_id: UUID) -> list[UUID]:
        """Tenants that the account was a member of, in order."""
        ...

    async def is_former(self, tenant_id: UUID, user_id: UUID, digests: Sequence[bytes]) -> bool:
        """Whether the account's membership has ended at some time, by whomever, or its mailbox has a mark."""
        ...

    async def readmit(self, tenant_id: UUID, user_id: UUID, digests: Sequence[bytes]) -> None:
        """Removes the tenant's marks on the account and the mailbox."""
        ...


class IdentityTransaction(Protocol):
    """Parts of the database that hold users and their rights."""

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
    """Parts of the database that beginning and ending memberships needs."""

    @property
    def former_members(self) -> FormerMembers: ...


def own_notice(mail_id: UUID, kind: MailKind, user: User, client: Client, at: datetime, *, about: str = "") -> Mail:
    """Notice to a user about an act of their own account, in the language of the ``client`` that it came from."""
    return replace(notice(mail_id, kind, user, at, client=client, about=about), language=client.language)


def notice(
    mail_id: UUID, kind: MailKind, user: User, at: datetime, *, client: Client | None = None, about: str = ""
) -> Mail:
    """Notice to a user about what others did, or nobody: the ``client`` is theirs, and so is its language."""
    address = "" if client is None else client.address
    return Mail(id=mail_id, kind=kind, recipient=user.email, name=user.full_name, address=address, at=at, about=about)
