"""Everything that is stored about a person, for the person."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.users import IdentityTransaction
from domain.identity.users import User

EVENTS = 10_000
"""Most lines of the audit trail in an export, the latest."""


class PersonalRecord(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the parts of an export."""


class AccountRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """The account. Of the password it tells only whether there is one, and since when."""

    id: UUID
    email: str
    full_name: str
    phone_number: str | None
    profile_picture_url: str | None
    email_confirmed: bool
    email_proved: bool
    email_proved_at: datetime | None
    is_active: bool
    has_password: bool
    must_change_password: bool
    password_set_at: datetime | None
    created_at: datetime
    updated_at: datetime
    last_login_at: datetime | None
    system_roles: list[str]


class MembershipRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    tenant_id: UUID
    tenant_name: str
    roles: list[str]
    is_default: bool
    is_owner: bool
    joined_at: datetime


class SessionRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    id: UUID
    tenant_id: UUID | None
    created_at: datetime
    rotated_at: datetime
    ended_at: datetime | None
    app_id: str | None
    address: str
    device: str
    methods: list[str]
    authenticated_at: datetime | None


class FactorRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A second factor without its secret or key."""

    id: UUID
    kind: str
    name: str
    created_at: datetime
    last_used_at: datetime | None


class RecoveryCodeRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A recovery code, of which only the time of its use is known."""

    used_at: datetime | None


class IdentityRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    provider: str
    subject: str
    linked_at: datetime


class EmailChangeRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    email: str
    requested_at: datetime
    expires_at: datetime


class LinkRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A link that was mailed; ``email`` is the normal form of the address."""

    purpose: str
    email: str
    issued_at: datetime
    expires_at: datetime
    used_at: datetime | None


class WaitingMail(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A mail that is not delivered yet; ``language`` is the browser's, empty where it is not known."""

    kind: str
    recipient: str
    address: str
    about: str
    language: str
    at: datetime


class AttemptRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """Logins to the address from a network; the empty network stands for all together."""

    network: str
    failures: int
    locked_until: datetime | None
    known_at: datetime | None
    tried_at: datetime | None


class InvitationRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """An invitation to the person's address, or one that the person sent, then without the other's address."""

    id: UUID
    tenant_id: UUID
    status: str
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None


class JoinRequestRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    tenant_id: UUID
    domain: str
    created_at: datetime
    status: str
    ended_at: datetime | None


class DomainRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A domain whose roles the person set for a tenant."""

    tenant_id: UUID
    domain: str
    created_at: datetime


class FormerMembershipRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A tenant that the person was a member of."""

    tenant_id: UUID


class MadeRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A service account or a key that the person made for a tenant."""

    id: UUID
    tenant_id: UUID
    name: str
    created_at: datetime


class RepeatedRequest(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A request with an ``Idempotency-Key``, whose answer is kept for a day."""

    tenant_id: UUID
    key: str
    at: datetime


class EventRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A line of the audit trail; the client's address stands in lines of what the person did."""

    tenant_id: UUID
    actor_id: UUID | None
    action: str
    target_id: UUID | None
    address: str | None
    request_id: str | None
    occurred_at: datetime


class PersonalData(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """Everything that is stored about a person; lists have the oldest first, events the latest.

    ``has_more_events``: the trail holds more lines than the latest EVENTS. Rows of entities are not part of it: they
    belong to the tenants, and say in ``createdBy`` and ``updatedBy`` who wrote them.
    """

    account: AccountRecord
    memberships: list[MembershipRecord]
    sessions: list[SessionRecord]
    factors: list[FactorRecord]
    recovery_codes: list[RecoveryCodeRecord]
    identities: list[IdentityRecord]
    email_changes: list[EmailChangeRecord]
    links: list[LinkRecord]
    waiting_mails: list[WaitingMail]
    login_attempts: list[AttemptRecord]
    invitations_received: list[InvitationRecord]
    invitations_sent: list[InvitationRecord]
    join_requests: list[JoinRequestRecord]
    domains: list[DomainRecord]
    former_memberships: list[FormerMembershipRecord]
    service_accounts: list[MadeRecord]
    api_keys: list[MadeRecord]
    repeated_requests: list[RepeatedRequest]
    events: list[EventRecord]
    has_more_events: bool = False


class PersonalRecords(Protocol):
    async def of(self, user: User, events: int = EVENTS) -> PersonalData | None:
        """Everything of the account in one snapshot, with its latest ``events``; None when it is gone."""
        ...


class PersonalTransaction(IdentityTransaction, Protocol):
    """Parts of the database that an export of a person's data needs."""

    @property
    def personal(self) -> PersonalRecords: ...
