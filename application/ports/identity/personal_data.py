"""Export of all stored data about a person."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.users import IdentityTransaction
from domain.identity.users import User

EVENTS = 10_000
"""Maximum audit entries in an export, the latest ones."""


class PersonalRecord(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the parts of an export."""


class AccountRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """The account. For the password it says only whether and since when it exists."""

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
    """A recovery code without its text, with only the time of its use."""

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
    """A mailed link; ``email`` is the address's normal form."""

    purpose: str
    email: str
    issued_at: datetime
    expires_at: datetime
    used_at: datetime | None


class WaitingMail(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """An undelivered mail; ``language`` is the browser's, empty if unknown."""

    kind: str
    recipient: str
    address: str
    about: str
    language: str
    at: datetime


class AttemptRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """Logins to the address from a network; the empty network means all together."""

    network: str
    failures: int
    locked_until: datetime | None
    known_at: datetime | None
    tried_at: datetime | None


class InvitationRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """An invitation to the person's address, or one from the person, then without the other's address."""

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
    """A domain of a tenant, with roles that the person set."""

    tenant_id: UUID
    domain: str
    created_at: datetime


class FormerMembershipRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A former tenant of the person."""

    tenant_id: UUID


class MadeRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A service account or a key created by the person."""

    id: UUID
    tenant_id: UUID
    name: str
    created_at: datetime


class RepeatedRequest(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """A request with an ``Idempotency-Key``; its answer is stored for a day."""

    tenant_id: UUID
    key: str
    at: datetime


class EventRecord(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """An entry of the audit trail. Entries of the person's own actions have the client's address."""

    tenant_id: UUID
    actor_id: UUID | None
    action: str
    target_id: UUID | None
    address: str | None
    request_id: str | None
    occurred_at: datetime


class PersonalData(PersonalRecord, frozen=True, kw_only=True, rename="camel"):
    """All stored data about a person; lists have the oldest entry first, audit entries the latest.

    ``has_more_events``: the audit trail has more entries than the latest EVENTS. Rows of entities are excluded, because
    they belong to the tenants. They have the ids of their writers in ``createdBy`` and ``updatedBy``.
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
        """Return all data of the account in one snapshot, with its latest ``events``; None for a deleted account."""
        ...


class PersonalTransaction(IdentityTransaction, Protocol):
    """Transaction for an export of a person's data."""

    @property
    def personal(self) -> PersonalRecords: ...
