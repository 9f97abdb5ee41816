"""The caller's profile: only from the token's claims, or complete, from the database through the cache."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec
from msgspec import Struct

from application.ports.database import Database
from application.ports.identity.accounts import AccountTransaction, LinkedProvider
from application.ports.identity.service_accounts import ServiceAccountTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import PROFILES_KEPT, TENANTS_KEY, Cache, profile_key
from domain.errors import TokenInvalid
from domain.identity.users import AccountState, TenantName, tenant_name
from domain.scope import Caller, EveryTenant


class BasicProfile(Struct, rename="camel", kw_only=True):
    id: UUID
    name: str
    email: str
    roles: tuple[str, ...]
    permissions: tuple[str, ...]


class Profile(Struct, rename="camel", kw_only=True):
    """The complete profile.

    ``email_proved``: the address counts as the account's own, for example for invitations. An address entered by an
    administrator is confirmed but not proved.
    """

    id: UUID
    email: str
    full_name: str
    phone_number: str | None
    profile_picture_url: str | None
    email_confirmed: bool
    email_proved: bool
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    tenants: list[TenantName]
    identities: list[LinkedProvider]
    created_at: datetime
    last_login_at: datetime | None


class ProfileBasis(Struct):
    """Versions from which a profile was built; a change of any makes the cached profile stale."""

    tenant_id: UUID | None
    issued: dict[str, int]
    tenants: bytes | None


class CachedProfile(Struct):
    under: ProfileBasis
    profile: Profile


class ProfileTransaction(AccountTransaction, ServiceAccountTransaction, Protocol):
    """Transaction for profiles of users and service accounts."""


@dataclass(frozen=True)
class Profiles:
    database: Database[ProfileTransaction]
    cache: Cache
    clock: Clock

    def basic(self, caller: Caller) -> BasicProfile:
        """Return the profile in the token's claims, without database or cache."""
        return BasicProfile(
            id=caller.user_id,
            name=caller.name,
            email=caller.email,
            roles=caller.roles,
            permissions=caller.permissions,
        )

    async def complete(self, caller: Caller) -> Profile:
        """Return the complete profile. Raises TokenInvalid for a deleted account."""
        if caller.kind == "service":
            return await self._of_service(caller)
        # Read the tenants' value before the database: a concurrent change then makes the cached profile stale, not
        # wrong.
        key = profile_key(caller.user_id)
        found, tenants = await asyncio.gather(self.cache.get(key), self.cache.get(TENANTS_KEY))
        versions = {subject: count for subject, count in caller.issued.items() if not subject.startswith("session:")}
        basis = ProfileBasis(caller.tenant_id, versions, tenants)
        if (cached := _decoded(found)) and cached.under == basis:
            return cached.profile
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.users.state(caller.user_id)
            linked = await read.social.of_user(caller.user_id)
        if state is None:
            raise TokenInvalid
        profile = _profile(caller, state, linked)
        await self.cache.put(key, msgspec.json.encode(CachedProfile(basis, profile)), PROFILES_KEPT)
        return profile

    async def _of_service(self, caller: Caller) -> Profile:
        """Profile of a service account. It has no address and one tenant; requests for it are too rare to cache it."""
        now, tenant_id = self.clock.now(), caller.tenant.id
        async with self.database.read_only(EveryTenant()) as read:
            found = await read.service_accounts.get(tenant_id, caller.user_id, now)
            home = await read.memberships.visit(tenant_id, now)
        if found is None or home is None:
            raise TokenInvalid
        return Profile(
            id=found.account.id,
            email="",
            full_name=found.account.name,
            phone_number=None,
            profile_picture_url=None,
            email_confirmed=False,
            email_proved=False,
            roles=caller.roles,
            permissions=caller.permissions,
            identities=[],
            tenants=[TenantName(id=tenant_id, name=home.tenant_name, is_default=True)],
            created_at=found.account.created_at,
            last_login_at=None,
        )


def _decoded(found: bytes | None) -> CachedProfile | None:
    """The cached profile, or None if another version of the service stored it in another form."""
    try:
        return msgspec.json.decode(found, type=CachedProfile) if found else None
    except msgspec.ValidationError:
        return None


def _profile(caller: Caller, state: AccountState, linked: list[LinkedProvider]) -> Profile:
    user = state.user
    return Profile(
        id=user.id,
        email=user.email,
        full_name=user.full_name,
        phone_number=user.phone_number,
        profile_picture_url=user.profile_picture_url,
        email_confirmed=user.email_confirmed,
        email_proved=user.email_proved,
        roles=caller.roles,
        permissions=caller.permissions,
        tenants=[tenant_name(membership) for membership in state.memberships],
        identities=linked,
        created_at=user.created_at,
        last_login_at=user.last_login_at,
    )
