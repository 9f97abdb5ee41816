"""Tenants that users create for themselves, if the operator allows it."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from application.identity.administration.tenant_forms import NAME_LENGTH, NewTenantForm, ensure_valid
from application.ports.database import Database
from application.ports.identity.tenants import TenantTransaction
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Cache, profile_key
from application.retry import retry_on_conflict
from domain.errors import NotFound, RateLimited, TokenInvalid
from domain.identity.identifiers import is_free_identifier
from domain.identity.invitations import DAY
from domain.identity.users import ADMIN, AccountState, Tenant
from domain.scope import Caller, Client, EveryTenant, event

TENANTS_A_DAY = 3
"""Maximum tenants that a user may create and own within a day."""


class OwnTenantForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body that creates a tenant; ``identifier`` is by default derived from the name."""

    name: str
    identifier: str | UnsetType = UNSET


@dataclass(frozen=True)
class OwnTenants:
    """Use case of users who create a tenant for themselves.

    With ``is_open`` False the path appears unknown.
    """

    database: Database[TenantTransaction]
    cache: Cache
    clock: Clock
    ids: Ids
    is_open: bool

    @retry_on_conflict
    async def create(self, caller: Caller, form: OwnTenantForm, client: Client) -> Tenant:
        """Create a tenant with the caller as its owner and Admin. Raises Conflict on ``identifier``."""
        if not self.is_open:
            raise NotFound
        now, tenant_id = self.clock.now(), self.ids.new()
        # The end of an id is random enough, and used only if the name is in use.
        spare = f"{identifier_of(form.name)[:50]}-{tenant_id.hex[-8:]}"
        given = identifier_of(form.name) if form.identifier is UNSET else form.identifier
        ensure_valid(NewTenantForm(name=form.name, identifier=given if form.identifier is not UNSET else spare))
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(caller.user_id)
            state = await tx.users.state(caller.user_id)
            if state is None:
                raise TokenInvalid
            _ensure_room(state, now)
            is_taken = not is_free_identifier(given) or await tx.tenants.by_identifier(given) is not None
            identifier = spare if form.identifier is UNSET and is_taken else given
            tenant = Tenant(id=tenant_id, name=form.name, identifier=identifier, created_at=now)
            await tx.tenants.add(tenant)
            roles = await tx.roles.by_names(None, [ADMIN])
            await tx.memberships.save(caller.user_id, tenant_id, [role.id for role in roles], None, now)
            await tx.memberships.set_owner(caller.user_id, tenant_id, True)
            await tx.audit.add(tenant_id, event("tenant.created", caller.user_id, tenant_id, client, now))
        await self.cache.drop([profile_key(caller.user_id)])
        return tenant


def identifier_of(name: str) -> str:
    """Return an identifier that resembles a name: ``"Bücher & Söhne"`` becomes ``bucher-sohne``."""
    # Cut first: the time for normalisation grows with the square of the number of combining marks.
    plain = unicodedata.normalize("NFKD", name[:NAME_LENGTH]).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-") or "tenant"


def _ensure_room(state: AccountState, now: datetime) -> None:
    made = [held for held in state.memberships if held.is_owner and held.joined_at > now - DAY]
    if len(made) >= TENANTS_A_DAY:
        soonest = min(held.joined_at for held in made) + DAY - now
        message = f"At most {TENANTS_A_DAY} tenants a day can be made."
        raise RateLimited(max(1, int(soonest.total_seconds())), message)
