"""All state of the memory database, and the two ways that rooms reach it."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.accounts import OneTimeToken, Purpose
from application.ports.outbox import Mail
from domain.identity.permissions import Permission
from domain.identity.sessions import Session
from domain.identity.signing_keys import SigningKey
from domain.identity.tenants import Tenant
from domain.identity.users import Role, User

Row = dict[str, object]
Tables = dict[str, dict[UUID, Row]]
"""The rows of entities, by table and id. A row is never changed, but replaced by another."""


class StoredMembership(Struct, frozen=True, kw_only=True):
    """A membership as it is kept."""

    user_id: UUID
    tenant_id: UUID
    is_default: bool
    joined_at: datetime
    role_ids: tuple[UUID, ...]


class LinkedIdentity(Struct, frozen=True):
    """Whose an identity at a social provider is."""

    user_id: UUID
    linked_at: datetime


class Failures(Struct, frozen=True, kw_only=True):
    """Reserved attempts in a row, of an e-mail from one network or over all; ``limit`` is how many lock."""

    count: int = 0
    limit: int = 0
    locked_until: datetime | None = None
    known_since: datetime | None = None
    tried_at: datetime | None = None


class OutboxMail(Struct, frozen=True, kw_only=True):
    """A mail in the outbox."""

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


class StoredResponseRow(Struct, frozen=True, kw_only=True):
    fingerprint: str
    answer: bytes
    at: datetime


@dataclass
class Store:
    """Plain dictionaries of values that are never changed, only replaced; the rows of entities too."""

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
    spent_ids: dict[str, datetime] = field(default_factory=dict)
    social: dict[tuple[str, str], LinkedIdentity] = field(default_factory=dict)
    outbox: dict[UUID, OutboxMail] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    one_time_tokens: dict[tuple[UUID, Purpose], IssuedToken] = field(default_factory=dict)
    answers: dict[tuple[UUID, UUID, str], StoredResponseRow] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)

    def copy(self) -> "Store":
        plain = {one.name: dict(getattr(self, one.name)) for one in fields(self) if one.name != "tables"}
        return Store(**plain, tables={name: dict(rows) for name, rows in self.tables.items()})


class Access(Protocol):
    """How a room reaches the state: inside a transaction, or with each statement alone."""

    def read(self) -> Store: ...

    def write(self) -> AbstractAsyncContextManager[Store]:
        """What is done to the store inside stands when it is left, and not when an exception leaves it."""
        ...
