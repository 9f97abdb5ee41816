"""State of accounts, logins and administration."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from application.ports.identity.accounts import EmailChange, OneTimeToken, Purpose
from domain.identity.signing_keys import SigningKey
from domain.identity.tokens import Session
from domain.identity.users import Role, Tenant, User
from domain.scope import Permission


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
    """Consecutive reserved attempts for an address, from one network or from all.

    The address is locked when the count reaches ``limit``.

    ``locks`` is the number of consecutive locks, including the current lock.
    """

    count: int = 0
    limit: int = 0
    locks: int = 0
    locked_until: datetime | None = None
    known_at: datetime | None = None
    tried_at: datetime | None = None


class IssuedToken(Struct, frozen=True, kw_only=True):
    token: OneTimeToken
    used_at: datetime | None = None

    @property
    def is_used(self) -> bool:
        return self.used_at is not None


@dataclass(kw_only=True)
class IdentityState:
    users: dict[UUID, User] = field(default_factory=dict)
    memberships: dict[tuple[UUID, UUID], StoredMembership] = field(default_factory=dict)
    system_roles: dict[UUID, tuple[UUID, ...]] = field(default_factory=dict)
    roles: dict[UUID, Role] = field(default_factory=dict)
    tenants: dict[UUID, Tenant] = field(default_factory=dict)
    deleted_tenants: dict[UUID, datetime] = field(default_factory=dict)
    sessions: dict[UUID, Session] = field(default_factory=dict)
    attempts: dict[tuple[str, str | None], Failures] = field(default_factory=dict)
    permissions: dict[UUID, Permission] = field(default_factory=dict)
    keys: dict[str, SigningKey] = field(default_factory=dict)
    used_nonces: dict[str, datetime] = field(default_factory=dict)
    social: dict[tuple[str, str], LinkedIdentity] = field(default_factory=dict)
    one_time_tokens: dict[tuple[UUID, Purpose, int], IssuedToken] = field(default_factory=dict)
    email_changes: dict[UUID, EmailChange] = field(default_factory=dict)
