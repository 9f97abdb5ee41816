"""The state of the memory database, and the interface by which adapters reach it."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.database import Mail
from application.ports.identity.accounts import EmailChange, OneTimeToken, Purpose
from application.ports.identity.factors import Factor
from application.ports.runtime import Ids
from domain.entities.declaration import Registry
from domain.identity.domains import JoinRequest, TenantDomain
from domain.identity.invitations import Invitation
from domain.identity.service_accounts import ApiKey, ServiceAccount
from domain.identity.signing_keys import SigningKey
from domain.identity.tokens import Session
from domain.identity.users import Role, Tenant, User
from domain.scope import Permission, Scope

Row = dict[str, object]
Tables = dict[str, dict[UUID, Row]]
"""Rows of entities by table and id; a row is replaced, never changed."""


class StoredMembership(Struct, frozen=True, kw_only=True):
    """A membership with the ids of its roles."""

    user_id: UUID
    tenant_id: UUID
    is_default: bool
    joined_at: datetime
    role_ids: tuple[UUID, ...]
    is_owner: bool = False
    sessions_ended_at: datetime | None = None


class LinkedIdentity(Struct, frozen=True):
    """The user that a social identity is linked to."""

    user_id: UUID
    linked_at: datetime


class Failures(Struct, frozen=True, kw_only=True):
    """Reserved attempts in a row for an address, from one network or all; ``limit`` is the count that locks.

    ``locks`` counts the locks in a row, the one in force included.
    """

    count: int = 0
    limit: int = 0
    locks: int = 0
    locked_until: datetime | None = None
    known_at: datetime | None = None
    tried_at: datetime | None = None


class OutboxMail(Struct, frozen=True, kw_only=True):
    """A mail in the outbox with the state of its delivery."""

    mail: Mail
    number: int
    due_at: datetime
    since: datetime
    tries: int = 0
    given_up_at: datetime | None = None
    why: str = ""


class IssuedToken(Struct, frozen=True, kw_only=True):
    token: OneTimeToken
    used_at: datetime | None = None

    @property
    def is_used(self) -> bool:
        return self.used_at is not None


class StoredApiKey(Struct, frozen=True, kw_only=True):
    """A key, whether its tenant was told of its end, under its digest."""

    key: ApiKey
    is_warned: bool = False


class StoredResponseRow(Struct, frozen=True, kw_only=True):
    fingerprint: str
    answer: bytes
    at: datetime


@dataclass
class Store:
    """Dictionaries of values that are replaced, never changed."""

    users: dict[UUID, User] = field(default_factory=dict)
    memberships: dict[tuple[UUID, UUID], StoredMembership] = field(default_factory=dict)
    system_roles: dict[UUID, tuple[UUID, ...]] = field(default_factory=dict)
    roles: dict[UUID, Role] = field(default_factory=dict)
    tenants: dict[UUID, Tenant] = field(default_factory=dict)
    deleted_tenants: dict[UUID, datetime] = field(default_factory=dict)
    sessions: dict[UUID, Session] = field(default_factory=dict)
    attempts: dict[tuple[str, str | None], Failures] = field(default_factory=dict)
    token_versions: dict[str, int] = field(default_factory=dict)
    ended_counts: dict[str, datetime] = field(default_factory=dict)
    permissions: dict[UUID, Permission] = field(default_factory=dict)
    keys: dict[str, SigningKey] = field(default_factory=dict)
    used_nonces: dict[str, datetime] = field(default_factory=dict)
    social: dict[tuple[str, str], LinkedIdentity] = field(default_factory=dict)
    outbox: dict[UUID, OutboxMail] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    one_time_tokens: dict[tuple[UUID, Purpose, int], IssuedToken] = field(default_factory=dict)
    email_changes: dict[UUID, EmailChange] = field(default_factory=dict)
    factors: dict[UUID, Factor] = field(default_factory=dict)
    recovery_codes: dict[tuple[UUID, bytes], datetime | None] = field(default_factory=dict)
    passkey_handles: dict[UUID, bytes] = field(default_factory=dict)
    service_accounts: dict[UUID, ServiceAccount] = field(default_factory=dict)
    api_keys: dict[bytes, StoredApiKey] = field(default_factory=dict)
    invitations: dict[tuple[UUID, UUID], Invitation] = field(default_factory=dict)
    domains: dict[tuple[UUID, str], TenantDomain] = field(default_factory=dict)
    join_requests: dict[tuple[UUID, UUID], JoinRequest] = field(default_factory=dict)
    former_members: dict[tuple[UUID, UUID], bool] = field(default_factory=dict)
    former_addresses: dict[tuple[UUID, bytes], datetime] = field(default_factory=dict)
    answers: dict[tuple[UUID, UUID, str], StoredResponseRow] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)

    def copy(self) -> "Store":
        # Two levels are enough: values and rows are replaced, never changed.
        names = [attribute.name for attribute in fields(self) if attribute.name != "tables"]
        plain = {name: dict(getattr(self, name)) for name in names}
        return Store(**plain, tables={name: dict(rows) for name, rows in self.tables.items()})

    def become(self, other: "Store") -> None:
        """Takes the dictionaries of the other state, whoever holds this one."""
        for attribute in fields(self):
            setattr(self, attribute.name, getattr(other, attribute.name))


class Access(Protocol):
    """State as a statement sees it: that of a transaction, or the committed one."""

    def read(self) -> Store: ...

    def lock(self) -> Store:
        """The state for a statement that locks rows, which a read-only connection refuses. Nobody is locked out here:
        transactions run one after the other."""
        ...

    def write(self) -> AbstractAsyncContextManager[Store]:
        """The state to change; an exception undoes the changes."""
        ...


@dataclass(frozen=True)
class MemoryContext:
    """State and scope of a transaction, from which each part makes its ports."""

    access: Access
    scope: Scope
    registry: Registry
    ids: Ids
