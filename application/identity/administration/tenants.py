"""Administration of tenants, for super-admins."""

from dataclasses import dataclass
from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from application.identity.administration.listing import SORTABLE_TENANTS, Parameters, paging, read_listing
from application.identity.administration.tenant_forms import (
    NewTenantForm,
    TenantForm,
    TenantPage,
    changed_tenant,
    ensure_valid,
    settings_of,
)
from application.ports.database import Database
from application.ports.identity.tenants import TenantTransaction
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import PROFILES_KEPT, TENANTS_KEY, Cache, Revocations
from application.retry import retry_on_conflict
from domain.errors import Conflict, NotFound
from domain.identity.users import Tenant
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event, tenant_subject


@dataclass(frozen=True)
class TenantAdministration:
    database: Database[TenantTransaction]
    revocations: Revocations
    cache: Cache
    clock: Clock
    ids: Ids

    async def page(self, parameters: Parameters) -> TenantPage:
        listing = read_listing(parameters, tenant_id=None, filters=("isActive",), sortable=SORTABLE_TENANTS)
        async with self.database.read_only(EveryTenant()) as read:
            tenants, total = await read.tenants.page(listing)
        return TenantPage(items=tenants, **paging(listing, total))

    async def current(self, caller: Caller) -> Tenant:
        """Return the caller's tenant. Raises NotFound for a Global Token.

        Only callers with permission to read the settings get ``security``. Without this permission a service account
        does not get ``customSettings`` either, but every person does.
        """
        if caller.tenant_id is None:
            raise NotFound
        tenant = await self.get(caller.tenant_id)
        if caller.may("read:tenant-settings"):
            return tenant
        settings = replace(tenant.settings, security=UNSET)
        return replace(tenant, settings=settings if caller.kind == "person" else replace(settings, custom_settings={}))

    async def get(self, tenant_id: UUID) -> Tenant:
        async with self.database.read_only(EveryTenant()) as read:
            return await self._tenant(read, tenant_id)

    @retry_on_conflict
    async def create(self, caller: Caller, form: NewTenantForm, client: Client) -> Tenant:
        ensure_valid(form)
        tenant = Tenant(
            id=self.ids.new(),
            name=form.name,
            identifier=form.identifier,
            domain=form.domain,
            created_at=self.clock.now(),
            settings=settings_of(form.settings),
        )
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.tenants.add(tenant)
            await tx.audit.add(tenant.id, event("tenant.created", caller.user_id, tenant.id, client, self.clock.now()))
        return tenant

    @retry_on_conflict
    async def update(self, caller: Caller, tenant_id: UUID, form: TenantForm, client: Client) -> Tenant:
        """Change the tenant; closing it makes its tokens stale at once."""
        subject = tenant_subject(tenant_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            # Lock, because the tenant's administrators may change its settings concurrently.
            before = await tx.tenants.lock(tenant_id)
            if before is None:
                raise NotFound
            tenant = changed_tenant(before, form)
            _ensure_system_stays(before, tenant)
            await tx.tenants.save(tenant)
            closed = before.is_active and not tenant.is_active
            if closed:
                published.update(await tx.token_versions.bump([subject]))
            await tx.audit.add(tenant_id, event("tenant.changed", caller.user_id, tenant_id, client, self.clock.now()))
        await self._forget_profiles()
        return tenant

    @retry_on_conflict
    async def delete(self, caller: Caller, tenant_id: UUID, client: Client) -> None:
        now, subject = self.clock.now(), tenant_subject(tenant_id)
        async with self.revocations.publishing([subject]) as published, self.database.transaction(EveryTenant()) as tx:
            # Check before the locks, as many as the tenant has members.
            _ensure_system_stays(await self._tenant(tx, tenant_id), None)
            # Lock, so that the second of two concurrent deletions does not find the tenant.
            if await tx.tenants.lock_to_remove(tenant_id) is None:
                raise NotFound
            await tx.tenants.remove(tenant_id, now)
            published.update(await tx.token_versions.bump([subject], ended_at=now))
            await tx.audit.add(tenant_id, event("tenant.deleted", caller.user_id, tenant_id, client, now))
        await self._forget_profiles()

    async def _forget_profiles(self) -> None:
        # All cached profiles refer to one cached value, so that one write invalidates those of many members. The value
        # must outlive the profiles.
        await self.cache.put(TENANTS_KEY, self.ids.new().bytes, 2 * PROFILES_KEPT)

    async def _tenant(self, tx: TenantTransaction, tenant_id: UUID) -> Tenant:
        tenant = await tx.tenants.by_id(tenant_id)
        if tenant is None:
            raise NotFound
        return tenant


def _ensure_system_stays(before: Tenant, after: Tenant | None) -> None:
    if before.id == SYSTEM_TENANT_ID and (
        after is None or not after.is_active or after.identifier != before.identifier
    ):
        raise Conflict("The tenant system cannot be deleted, closed or given another identifier.")
