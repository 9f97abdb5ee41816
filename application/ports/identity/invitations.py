"""Invitations in the database, for their tenant and their recipients."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.database import Mail
from application.ports.identity.users import MemberTransaction
from domain.identity.invitations import Invitation, InvitationStatus
from domain.identity.users import Branding, Role
from domain.scope import AuditEvent


class NewInvitation(Struct, frozen=True, kw_only=True):
    """An invitation with its audit entry and its mail, None if the address gets no further mail today."""

    invitation: Invitation
    mail: Mail | None
    line: AuditEvent


class ListedInvitation(Struct, frozen=True):
    """An invitation with the names of its roles, sorted by name and without deleted roles."""

    invitation: Invitation
    roles: tuple[str, ...]


class Offer(Struct, frozen=True, kw_only=True):
    """An invitation with the facts for its reader.

    ``account_name`` is that of the address's account, ``inviter_name`` is None if the inviter no longer exists, and
    ``tenant_is_open`` is False if the tenant is closed or deleted.
    """

    invitation: Invitation
    tenant_name: str
    tenant_identifier: str
    tenant_is_open: bool
    inviter_name: str | None
    account_name: str | None
    branding: Branding = Branding()

    def is_living(self, now: datetime) -> bool:
        is_pending = self.invitation.status_at(now) == "pending"
        return is_pending and self.tenant_is_open and self.inviter_name is not None


class InvitationListing(Struct, frozen=True, kw_only=True):
    """A page of a tenant's invitations, latest first; without ``statuses`` those of every status."""

    tenant_id: UUID
    statuses: frozenset[InvitationStatus] = frozenset()
    page: int = 1
    page_size: int = 20


class InvitationUsage(Struct, frozen=True, kw_only=True):
    """Usage before an invitation.

    ``made`` counts the tenant's invitations within a day, ``mails`` counts the mails to each address from all tenants;
    ``pending`` are the addresses with an unanswered invitation of this tenant.
    """

    made: int
    mails: Mapping[str, int]
    pending: frozenset[str]


class Invitations(Protocol):
    async def usage(self, tenant_id: UUID, email_keys: Sequence[str], now: datetime) -> InvitationUsage:
        """Return the usage for the addresses, and end their expired pending invitations to allow new ones.

        Calls for the same tenant or one of the addresses wait until the transaction ends, so that the counts cannot
        change.
        """
        ...

    async def add(self, sent: Sequence[NewInvitation]) -> int:
        """Store invitations, their mails and their audit entries in one statement; return their number.

        Omits addresses with a pending invitation of the tenant.
        """
        ...

    async def page(self, listing: InvitationListing, now: datetime) -> tuple[list[ListedInvitation], int]:
        """Return the page and the total."""
        ...

    async def lock(self, tenant_id: UUID, invitation_id: UUID) -> Invitation | None:
        """Return the invitation, locked until the transaction ends."""
        ...

    async def renew(self, invitation: Invitation) -> None:
        """Store the inviter, link hash, end and mail times of a pending invitation."""
        ...

    async def end(
        self, tenant_id: UUID, invitation_id: UUID, status: InvitationStatus, at: datetime, accepted_by: UUID | None
    ) -> bool:
        """End a pending invitation; only one of several parallel calls returns True."""
        ...


class ReceivedInvitations(Protocol):
    async def by_hash(self, hashed: str) -> Offer | None:
        """Return the invitation, in any status, by the hash of its link's secret."""
        ...

    async def of_address(self, email_key: str, now: datetime) -> list[Offer]:
        """Return live invitations to the address, latest first."""
        ...

    async def accepted(self, user_id: UUID, invitation_id: UUID) -> Invitation | None:
        """Return the invitation with this id, if the account accepted it and is still a member of the tenant."""
        ...

    async def roles(self, tenant_id: UUID, role_ids: Sequence[UUID]) -> list[Role]:
        """Return those roles that still exist in the tenant or the system, by name; locked as in ``by_names``."""
        ...


class InvitationTransaction(MemberTransaction, Protocol):
    """Transaction for invitations."""

    @property
    def invitations(self) -> Invitations: ...
    @property
    def received(self) -> ReceivedInvitations: ...
