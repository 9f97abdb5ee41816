"""Parts of the database, as the ports name them, in a transaction or on a connection."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from adapters.memory.audit import MemoryAuditTrail
from adapters.memory.entities.files import MemoryTransfers
from adapters.memory.entities.history import MemoryHistory
from adapters.memory.entities.idempotency import MemoryIdempotencyStore
from adapters.memory.entities.records import MemoryRecords
from adapters.memory.identity.accounts import MemoryCredentials, MemoryEmailChanges, MemoryOneTimeTokens
from adapters.memory.identity.attempts import MemoryAttempts
from adapters.memory.identity.factors.stored_factors import MemoryFactors, MemoryPasskeyHandles, MemoryRecoveryCodes
from adapters.memory.identity.imported_hashes import MemoryImportedHashes
from adapters.memory.identity.joining.domains import MemoryJoinRequests, MemoryTenantDomains
from adapters.memory.identity.joining.former_members import MemoryFormerMembers
from adapters.memory.identity.joining.invitations import MemoryInvitations, MemoryReceivedInvitations
from adapters.memory.identity.memberships import MemoryMemberships
from adapters.memory.identity.permissions import MemoryPermissions
from adapters.memory.identity.roles import MemoryRoles
from adapters.memory.identity.self_service.personal_data import MemoryPersonalRecords
from adapters.memory.identity.service_accounts.accounts import MemoryServiceAccounts
from adapters.memory.identity.service_accounts.keys import MemoryApiKeys
from adapters.memory.identity.sessions import MemorySessions
from adapters.memory.identity.signing_keys import MemorySigningKeys, MemoryStoredSecrets
from adapters.memory.identity.social import MemorySocialIdentities
from adapters.memory.identity.tenants import MemoryTenants
from adapters.memory.identity.token_versions import MemoryTokenVersions
from adapters.memory.identity.used_nonces import MemoryUsedNonces
from adapters.memory.identity.users import MemoryUsers
from adapters.memory.mail import MemoryOutbox, MemoryOutboxState
from adapters.memory.retention import MemoryRetention
from adapters.memory.store import Access, Store
from application.ports.entities.records import Act, Change, Current, NewRow, Restored, RowPage, Stored, Versions
from application.ports.runtime import Ids
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import Query, View
from domain.scope import Scope


@dataclass(frozen=True)
class MemoryTransaction:
    """Every part of the database on one state and one scope."""

    access: Access
    scope: Scope
    registry: Registry
    ids: Ids

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        before = self.access.read().copy()
        try:
            yield
        except Exception:
            self.access.lock().become(before)
            raise

    @property
    def users(self) -> MemoryUsers:
        return MemoryUsers(self.access)

    @property
    def memberships(self) -> MemoryMemberships:
        return MemoryMemberships(self.access)

    @property
    def roles(self) -> MemoryRoles:
        return MemoryRoles(self.access)

    @property
    def tenants(self) -> MemoryTenants:
        return MemoryTenants(self.access)

    @property
    def sessions(self) -> MemorySessions:
        return MemorySessions(self.access, self.ids)

    @property
    def service_accounts(self) -> MemoryServiceAccounts:
        return MemoryServiceAccounts(self.access)

    @property
    def api_keys(self) -> MemoryApiKeys:
        return MemoryApiKeys(self.access)

    @property
    def attempts(self) -> MemoryAttempts:
        return MemoryAttempts(self.access)

    @property
    def token_versions(self) -> MemoryTokenVersions:
        return MemoryTokenVersions(self.access)

    @property
    def permissions(self) -> MemoryPermissions:
        return MemoryPermissions(self.access)

    @property
    def audit(self) -> MemoryAuditTrail:
        return MemoryAuditTrail(self.access, self.ids)

    @property
    def outbox(self) -> MemoryOutbox:
        return MemoryOutbox(self.access)

    @property
    def outbox_state(self) -> MemoryOutboxState:
        return MemoryOutboxState(self.access)

    @property
    def one_time_tokens(self) -> MemoryOneTimeTokens:
        return MemoryOneTimeTokens(self.access)

    @property
    def email_changes(self) -> MemoryEmailChanges:
        return MemoryEmailChanges(self.access)

    @property
    def credentials(self) -> MemoryCredentials:
        return MemoryCredentials(self.access)

    @property
    def keys(self) -> MemorySigningKeys:
        return MemorySigningKeys(self.access)

    @property
    def used_nonces(self) -> MemoryUsedNonces:
        return MemoryUsedNonces(self.access)

    @property
    def social(self) -> MemorySocialIdentities:
        return MemorySocialIdentities(self.access)

    @property
    def invitations(self) -> MemoryInvitations:
        return MemoryInvitations(self.access, self.ids)

    @property
    def received(self) -> MemoryReceivedInvitations:
        return MemoryReceivedInvitations(self.access)

    @property
    def domains(self) -> MemoryTenantDomains:
        return MemoryTenantDomains(self.access)

    @property
    def join_requests(self) -> MemoryJoinRequests:
        return MemoryJoinRequests(self.access)

    @property
    def former_members(self) -> MemoryFormerMembers:
        return MemoryFormerMembers(self.access)

    @property
    def personal(self) -> MemoryPersonalRecords:
        return MemoryPersonalRecords(self.access)

    @property
    def imported(self) -> MemoryImportedHashes:
        return MemoryImportedHashes(self.access)

    @property
    def stored_secrets(self) -> MemoryStoredSecrets:
        return MemoryStoredSecrets(self.access)

    @property
    def factors(self) -> MemoryFactors:
        return MemoryFactors(self.access)

    @property
    def recovery_codes(self) -> MemoryRecoveryCodes:
        return MemoryRecoveryCodes(self.access)

    @property
    def passkey_handles(self) -> MemoryPasskeyHandles:
        return MemoryPasskeyHandles(self.access)

    @property
    def answers(self) -> MemoryIdempotencyStore:
        return MemoryIdempotencyStore(self.access)

    @property
    def retention(self) -> MemoryRetention:
        return MemoryRetention(self.access)

    @property
    def history(self) -> MemoryHistory:
        return MemoryHistory(self.access, self.scope)

    @property
    def records(self) -> "AccessedRecords":
        return AccessedRecords(self.access, self.registry, self.scope)

    @property
    def transfers(self) -> MemoryTransfers:
        return MemoryTransfers(self.access, self.registry, self.scope)


@dataclass(frozen=True)
class AccessedRecords:
    """Records on the state that each statement sees."""

    access: Access
    registry: Registry
    scope: Scope

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None:
        return await self._in(self.access.read()).get(model, row_id, view)

    async def page(self, model: EntityModel, query: Query) -> RowPage:
        return await self._in(self.access.read()).page(model, query)

    async def current(
        self,
        model: EntityModel,
        ids: Sequence[UUID],
        *,
        locked: bool = True,
        shares: bool = False,
        is_bounded: bool = False,
    ) -> dict[UUID, Current]:
        # Transactions run one after the other: what was read cannot change before the end, so no lock is needed.
        records = self._in(self.access.read())
        return await records.current(model, ids, locked=locked, shares=shares, is_bounded=is_bounded)

    async def add(self, model: EntityModel, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        async with self.access.write() as store:
            return await self._in(store).add(model, rows, act)

    async def change(self, model: EntityModel, changes: Sequence[Change], act: Act) -> list[Stored]:
        async with self.access.write() as store:
            return await self._in(store).change(model, changes, act)

    async def remove(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        async with self.access.write() as store:
            return await self._in(store).remove(model, ids, act, version)

    async def restore(self, model: EntityModel, row_id: UUID, act: Act, version: Versions = None) -> Restored:
        async with self.access.write() as store:
            return await self._in(store).restore(model, row_id, act, version)

    async def purge(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        async with self.access.write() as store:
            return await self._in(store).purge(model, ids, act, version)

    def _in(self, store: Store) -> MemoryRecords:
        return MemoryRecords(store.tables, self.registry, self.scope)
