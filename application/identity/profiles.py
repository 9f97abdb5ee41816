"""Who am I: from the token's claims alone, or whole from the database, remembered for a while."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from application.ports.cache import Cache
from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from domain.errors import TokenInvalid
from domain.identity.users import PROFILES_KEPT, TENANTS_KEY, AccountState, TenantName, profile_key, tenant_name
from domain.scope import Caller, EveryTenant


class BasicProfile(Struct, rename="camel", kw_only=True):
    id: UUID
    name: str
    email: str
    roles: tuple[str, ...]
    permissions: tuple[str, ...]


class Profile(Struct, rename="camel", kw_only=True):
    id: UUID
    email: str
    full_name: str
    phone_number: str | None
    profile_picture_url: str | None
    email_confirmed: bool
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    tenants: list[TenantName]
    created_at: datetime
    last_login_at: datetime | None


class Under(Struct):
    """What a profile was built under: a change of roles, memberships or any tenant makes it another's."""

    tenant_id: UUID | None
    issued: dict[str, int]
    tenants: bytes | None


class Remembered(Struct):
    under: Under
    profile: Profile


@dataclass(frozen=True)
class Profiles:
    database: Database[IdentityTransaction]
    cache: Cache

    def basic(self, caller: Caller) -> BasicProfile:
        """From the claims alone: no database, no cache."""
        return BasicProfile(
            id=caller.user_id,
            name=caller.name,
            email=caller.email,
            roles=caller.roles,
            permissions=caller.permissions,
        )

    async def complete(self, caller: Caller) -> Profile:
        """The state of the tenants is asked for before the database: what changes in between is not kept."""
        key = profile_key(caller.user_id)
        found, tenants = await asyncio.gather(self.cache.get(key), self.cache.get(TENANTS_KEY))
        counts = {subject: count for subject, count in caller.issued.items() if not subject.startswith("session:")}
        under = Under(caller.tenant_id, counts, tenants)
        if (known := _known(found)) and known.under == under:
            return known.profile
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.users.state(caller.user_id)
        if state is None:
            raise TokenInvalid
        profile = _profile(caller, state)
        await self.cache.put(key, msgspec.json.encode(Remembered(under, profile)), PROFILES_KEPT)
        return profile


def _known(found: bytes | None) -> Remembered | None:
    return msgspec.json.decode(found, type=Remembered) if found else None


def _profile(caller: Caller, state: AccountState) -> Profile:
    user = state.user
    return Profile(
        id=user.id,
        email=user.email,
        full_name=user.full_name,
        phone_number=user.phone_number,
        profile_picture_url=user.profile_picture_url,
        email_confirmed=user.email_confirmed,
        roles=caller.roles,
        permissions=caller.permissions,
        tenants=[tenant_name(one) for one in state.memberships],
        created_at=user.created_at,
        last_login_at=user.last_login_at,
    )
