"""Invitations in the database, as the tenant that sends them and as the people who receive them see them."""

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
    """An invitation with its mail, None where the address gets no further one today, and its line of the audit."""

    invitation: Invitation
    mail: Mail | None
    line: AuditEvent


class ListedInvitation(Struct, frozen=True):
    """An invitation with the names of its roles that still exist, by name."""

    invitation: Invitation
    roles: tuple[str, ...]


class Offer(Struct, frozen=True, kw_only=True):
    """An invitation with what its reader is told.

    ``account_name`` is that of the account with the address, ``inviter_name`` is None once the inviter is gone, and
    ``tenant_is_open`` False once the tenant is closed or deleted.
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
    """A page of a tenant's invitations, the latest first; without ``statuses`` those of every status."""

    tenant_id: UUID
    statuses: frozenset[InvitationStatus] = frozenset()
    page: int = 1
    page_size: int = 20


class InvitationUsage(Struct, frozen=True, kw_only=True):
    """State before an invitation.

    ``made`` counts the tenant's invitations within a day, ``mails`` those to each address over all tenants;
    ``pending`` are the addresses that wait for an answer to one of this tenant.
    """

    made: int
    mails: Mapping[str, int]
    pending: frozenset[str]


class Invitations(Protocol):
    async def usage(self, tenant_id: UUID, email_keys: Sequence[str], now: datetime) -> InvitationUsage:
        """State of the addresses; pending invitations to them that have expired are ended, and give way to new ones.

        Who asks for the same tenant or one of the same addresses waits until the transaction ends: nothing that is
        counted changes meanwhile.
        """
        ...

    async def add(self, sent: Sequence[NewInvitation]) -> int:
        """Stores invitations, their mails and their audit lines by one statement, and counts the invitations.

        One whose address has a pending invitation of the tenant is left out, with its mail and its line.
        """
        ...

    async def page(self, listing: InvitationListing, now: datetime) -> tuple[list[ListedInvitation], int]:
        """The page and the total."""
        ...

    async def lock(self, tenant_id: UUID, invitation_id: UUID) -> Invitation | None:
        """The invitation, locked until the transaction ends."""
        ...

    async def renew(self, invitation: Invitation) -> None:
        """Stores the inviter, the link's hash, the end and the times of the mails of a pending invitation."""
        ...

    async def end(
        self, tenant_id: UUID, invitation_id: UUID, status: InvitationStatus, at: datetime, accepted_by: UUID | None
    ) -> bool:
        """Ends a pending invitation; of parallel calls one gets True."""
        ...


class ReceivedInvitations(Protocol):
    async def by_hash(self, hashed: str) -> Offer | None:
        """The invitation whose link has a secret with this hash, whatever its status."""
        ...

    async def of_address(self, email_key: str, now: datetime) -> list[Offer]:
        """Living offers to the address, the latest first."""
        ...

    async def accepted(self, user_id: UUID, invitation_id: UUID) -> Invitation | None:
        """The invitation of this id that the account has accepted, while the account is a member of its tenant."""
        ...

    async def roles(self, tenant_id: UUID, role_ids: Sequence[UUID]) -> list[Role]:
        """Those of the roles that still exist in the tenant or the system, by name; locked as ``by_names`` does."""
        ...


class InvitationTransaction(MemberTransaction, Protocol):
    """Parts of the database that invitations need."""

    @property
    def invitations(self) -> Invitations: ...
    @property
    def received(self) -> ReceivedInvitations: ...
