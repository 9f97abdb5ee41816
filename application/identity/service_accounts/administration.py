"""Administration of the service accounts of the caller's tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from application.audit import record
from application.identity.administration.listing import Parameters, paging, read_listing
from application.identity.service_accounts.forms import (
    SORTABLE_ACCOUNTS,
    ServiceAccountChange,
    ServiceAccountForm,
    ServiceAccountItem,
    ServiceAccountPage,
    account_item,
    ensure_valid_account,
)
from application.ports.database import Database
from application.ports.identity.service_accounts import ListedServiceAccount, ServiceAccountTransaction
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import NotFound, QuotaExceeded
from domain.identity.administration import ensure_may_give, roles_named
from domain.identity.service_accounts import ACCOUNTS_PER_TENANT, ServiceAccount
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import Role
from domain.scope import Caller, Client, EveryTenant, grants_subject, user_subject


@dataclass(frozen=True)
class ServiceAccountAdministration:
    database: Database[ServiceAccountTransaction]
    revocations: Revocations
    clock: Clock
    ids: Ids

    async def page(self, caller: Caller, parameters: Parameters) -> ServiceAccountPage:
        listing = read_listing(
            parameters, tenant_id=caller.tenant.id, filters=("role", "isActive"), sortable=SORTABLE_ACCOUNTS
        )
        async with self.database.read_only(EveryTenant()) as read:
            found, total = await read.service_accounts.page(listing, self.clock.now())
        return ServiceAccountPage(items=[account_item(listed, caller) for listed in found], **paging(listing, total))

    async def get(self, caller: Caller, account_id: UUID) -> ServiceAccountItem:
        async with self.database.read_only(EveryTenant()) as read:
            return account_item(await self._account(read, caller, account_id), caller)

    @retry_on_conflict
    async def create(self, caller: Caller, form: ServiceAccountForm, client: Client) -> ServiceAccountItem:
        """Create an account with the given roles. The caller must hold all permissions of these roles."""
        ensure_valid_account(form)
        account = ServiceAccount(
            id=self.ids.new(),
            tenant_id=caller.tenant.id,
            name=form.name,
            description=form.description,
            created_at=self.clock.now(),
            created_by=caller.user_id,
        )
        async with self.database.transaction(EveryTenant()) as tx:
            roles = await self._roles(tx, caller, form.roles)
            ensure_may_give(caller, roles)
            ensure_fits_token(roles, "roles")
            if await tx.service_accounts.lock(account.tenant_id) >= ACCOUNTS_PER_TENANT:
                raise QuotaExceeded(f"A tenant has at most {ACCOUNTS_PER_TENANT} service accounts.")
            account = replace(account, roles=tuple(roles))
            await tx.service_accounts.add(account)
            await record(tx, "service-account.created", caller, account.id, client, self.clock.now())
        return account_item(ListedServiceAccount(account, 0, None, None), caller)

    @retry_on_conflict
    async def update(
        self, caller: Caller, account_id: UUID, form: ServiceAccountChange, client: Client
    ) -> ServiceAccountItem:
        """Change the account. Raises Forbidden unless the caller holds the permissions that the change adds, removes,
        stops or restarts.
        """
        ensure_valid_account(form)
        async with (
            self.revocations.publishing(_subjects(account_id)) as published,
            self.database.transaction(EveryTenant()) as tx,
        ):
            # Lock the account first, so that the following checks remain valid until the commit.
            await tx.api_keys.lock(caller.tenant.id, account_id, self.clock.now())
            found = await self._account(tx, caller, account_id)
            changed = await self._changed(tx, caller, found.account, form)
            await tx.service_accounts.save(changed)
            # Tokens and cached keys contain name and roles, so a change makes them stale; disabling the account revokes
            # them.
            is_stopped = found.account.is_active and not changed.is_active
            subjects = _subjects(account_id) if is_stopped else [grants_subject(account_id)]
            published.update(await tx.token_versions.bump(subjects))
            await record(tx, "service-account.changed", caller, account_id, client, self.clock.now())
        return account_item(replace(found, account=changed), caller)

    async def _changed(
        self, tx: ServiceAccountTransaction, caller: Caller, account: ServiceAccount, form: ServiceAccountChange
    ) -> ServiceAccount:
        roles = account.roles
        if form.roles is not UNSET:
            roles = tuple(await self._roles(tx, caller, form.roles))
            ensure_may_give(caller, roles, account.roles)
            ensure_fits_token(roles, "roles")
        if form.is_active is not UNSET and form.is_active != account.is_active:
            ensure_may_give(caller, account.roles)
        return replace(
            account,
            name=account.name if form.name is UNSET else form.name,
            description=account.description if form.description is UNSET else form.description,
            is_active=account.is_active if form.is_active is UNSET else form.is_active,
            roles=roles,
        )

    @retry_on_conflict
    async def delete(self, caller: Caller, account_id: UUID, client: Client) -> None:
        """Delete the account; revoke its keys and tokens at once, and free its name."""
        now, subjects = self.clock.now(), _subjects(account_id)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.api_keys.lock(caller.tenant.id, account_id, now)
            found = await self._account(tx, caller, account_id)
            ensure_may_give(caller, found.account.roles)
            await tx.service_accounts.remove(caller.tenant.id, account_id, now)
            # Ids are never reused: housekeeping may remove the versions after the last token expires.
            published.update(await tx.token_versions.bump(subjects, ended_at=now))
            await record(tx, "service-account.deleted", caller, account_id, client, self.clock.now())

    async def _account(self, tx: ServiceAccountTransaction, caller: Caller, account_id: UUID) -> ListedServiceAccount:
        # Security: report another tenant's account as not found.
        found = await tx.service_accounts.get(caller.tenant.id, account_id, self.clock.now())
        if found is None:
            raise NotFound
        return found

    async def _roles(self, tx: ServiceAccountTransaction, caller: Caller, names: Sequence[str]) -> list[Role]:
        roles = roles_named(names, await tx.roles.by_names(caller.tenant.id, names))
        return sorted(roles, key=lambda role: (role.name, role.id))


def _subjects(account_id: UUID) -> list[str]:
    return [user_subject(account_id), grants_subject(account_id)]
