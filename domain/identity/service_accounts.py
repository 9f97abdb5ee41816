"""Service accounts and their API keys. A service account acts for a tenant, not for a person."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from uuid import UUID
from zlib import crc32

from msgspec import Struct

from domain.errors import TokenExpired, TokenInvalid
from domain.identity.users import SUPER_ADMIN, Role
from domain.limits import Limit
from domain.scope import (
    SYSTEM_TENANT_ID,
    Caller,
    at_issue,
    grants_subject,
    meet,
    role_subject,
    session_subject,
    smallest,
    tenant_subject,
    user_subject,
)

Network = IPv4Network | IPv6Network

ACCOUNTS_PER_TENANT = 50
KEYS_PER_ACCOUNT = 10
PERMISSIONS_PER_KEY = 50
NETWORKS_PER_KEY = 50

TOKENS = Limit("oauth.token", 60)
"""Tokens of client credentials, per address and per account."""

UNKNOWN_KEYS = Limit("keys.unknown", 60)
"""Limit of lookups of API keys that this process has not cached, per network. A valid key refunds its lookup."""

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_LENGTH = 32
"""Random characters of a key: 190 bits."""

CHECKSUM_LENGTH = 6
START_LENGTH = 12
"""Characters of a key stored in plain text, to recognise the key."""

PREFIX = r"[a-z][a-z0-9]{1,15}"
"""Pattern of the key prefix. Any prefix is accepted, so that keys outlive a change of the setting."""

LONGEST_KEY = 16 + 1 + SECRET_LENGTH + CHECKSUM_LENGTH

WARNED_BEFORE = timedelta(days=7)
"""Time before a key's expiry when the service mails the tenant."""

NO_END = timedelta(days=36_500)
"""Lifetime of a caller with a non-expiring key."""

_KEY = re.compile(rf"{PREFIX}_[0-9A-Za-z]{{{SECRET_LENGTH + CHECKSUM_LENGTH}}}")


class ServiceAccount(Struct, frozen=True, kw_only=True, rename="camel"):
    """An account of one tenant, with roles as a member has. ``created_by`` is a user or another service account.

    None means that the operator created the account on the command line.
    """

    id: UUID
    tenant_id: UUID
    name: str
    description: str = ""
    is_active: bool = True
    created_at: datetime
    created_by: UUID | None
    roles: tuple[Role, ...] = ()

    @property
    def permissions(self) -> tuple[str, ...]:
        return smallest(name for role in self.roles for name in role.permissions)

    @property
    def is_super_admin(self) -> bool:
        is_named = any(role.is_system and role.name == SUPER_ADMIN for role in self.roles)
        return is_named and self.tenant_id == SYSTEM_TENANT_ID


class ApiKey(Struct, frozen=True, kw_only=True, rename="camel"):
    """A key without its secret.

    ``permissions`` None means all those of the account; ``networks`` None means any network.

    ``ended_at`` may be in the future: a rotated key remains valid until then.
    """

    id: UUID
    tenant_id: UUID
    account_id: UUID
    name: str
    start: str
    permissions: tuple[str, ...] | None = None
    networks: tuple[str, ...] | None = None
    created_at: datetime
    created_by: UUID | None
    expires_at: datetime | None = None
    ended_at: datetime | None = None
    last_used_at: datetime | None = None
    last_used_address: str | None = None

    @property
    def ends_at(self) -> datetime | None:
        """Time at which the key becomes invalid, None for a key without an end."""
        return min((at for at in (self.expires_at, self.ended_at) if at is not None), default=None)


class KeyState(Struct, frozen=True, kw_only=True, rename="camel"):
    """All data that determines a key's rights, read in one snapshot."""

    key: ApiKey
    account: ServiceAccount
    tenant_is_active: bool
    token_versions: dict[str, int]

    @property
    def permissions(self) -> tuple[str, ...]:
        """Permissions held by both the account and the key."""
        held = self.account.permissions
        return held if self.key.permissions is None else meet(held, self.key.permissions)

    @property
    def issued(self) -> dict[str, int]:
        """Versions in a new token of the key."""
        subjects = [grants_subject(self.account.id), tenant_subject(self.account.tenant_id)]
        subjects += [role_subject(role.id) for role in self.account.roles]
        user = user_subject(self.account.id)
        # The service increases a key's version only when the key ends, so the token of a live key has version 0.
        return {**at_issue([user], self.token_versions), session_subject(self.key.id): 0} | at_issue(
            subjects, self.token_versions
        )

    def ensure_lives(self, now: datetime) -> None:
        """Raise TokenExpired for a key past its expiry, and TokenInvalid, as for an unknown key, for any other end."""
        is_ended = self.key.ended_at is not None and self.key.ended_at <= now
        if is_ended or not self.account.is_active or not self.tenant_is_active:
            raise TokenInvalid
        if self.key.expires_at is not None and self.key.expires_at <= now:
            raise TokenExpired("The key has expired: ask for a new one.")


def service_caller(state: KeyState, now: datetime) -> Caller:
    """Return the caller for a key."""
    account, ends_at = state.account, state.key.ends_at
    return Caller(
        user_id=account.id,
        session_id=state.key.id,
        tenant_id=account.tenant_id,
        name=account.name,
        email="",
        roles=tuple(sorted({role.name for role in account.roles})),
        permissions=state.permissions,
        is_super_admin=account.is_super_admin,
        app_id=None,
        issued=state.issued,
        expires_at=int((ends_at or now + NO_END).timestamp()),
        kind="service",
    )


def compose_key(prefix: str, secret: str) -> str:
    """Return the text of a key: prefix, secret and checksum, ``tnt_7Q…``."""
    text = f"{prefix}_{secret}"
    return text + checksum(text)


def checksum(text: str) -> str:
    """Return the CRC-32 of the text in base 62: six characters, padded with ``0``."""
    # The most significant digit first.
    number, digits = crc32(text.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(BASE62))
        digits = BASE62[digit] + digits
    return digits


def looks_like_key(text: str) -> bool:
    """Return whether the text looks like an API key rather than a token. Tokens contain dots and never match."""
    # Signed tokens contain dots, which base 62 lacks.
    return "_" in text[:17] and "." not in text


def is_key(text: str) -> bool:
    """Return whether the text has the form and checksum of a key, so that other texts need no lookup."""
    return _KEY.fullmatch(text) is not None and checksum(text[:-CHECKSUM_LENGTH]) == text[-CHECKSUM_LENGTH:]


def without_keys(text: str) -> str:
    """Truncate possible API keys in the text to what lists show: a user may have put one into a path."""
    if "_" not in text or len(text) < SECRET_LENGTH + CHECKSUM_LENGTH:
        return text
    return _KEY.sub(lambda found: f"{found[0][:START_LENGTH]}…", text)


def key_digest(text: str) -> bytes:
    """Return the stored form of a key: SHA-256, 32 bytes."""
    # The secret has 190 random bits, so a fast hash is enough.
    return sha256(text.encode()).digest()


# Read the networks once per lookup of a key, because the service compares them in every request.
def read_networks(networks: Sequence[str] | None) -> tuple[Network, ...] | None:
    """Parse the networks. Raises ValueError for an invalid text."""
    return None if networks is None else tuple(ip_network(text) for text in networks)


def is_within(networks: Sequence[Network] | None, address: str) -> bool:
    """Return whether the client's address is in one of the networks; None permits all addresses."""
    if networks is None:
        return True
    try:
        found = ip_address(address)
    except ValueError:
        # A client on a Unix socket has no address.
        return False
    return any(found in network for network in networks)
