"""Ports of one connection, by the names that transactions give them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.files.copying import PostgresTransfers
from adapters.postgres.entities.history import PostgresHistory
from adapters.postgres.entities.idempotency import PostgresIdempotencyStore
from adapters.postgres.entities.reading.narrowing import NO_SEARCHES, Searches
from adapters.postgres.entities.records import PostgresRecords
from adapters.postgres.identity.accounts import (
    PostgresCredentials,
    PostgresEmailChanges,
    PostgresImportedHashes,
    PostgresOneTimeTokens,
)
from adapters.postgres.identity.attempts import PostgresAttempts
from adapters.postgres.identity.factors.stored_factors import (
    PostgresFactors,
    PostgresPasskeyHandles,
    PostgresRecoveryCodes,
)
from adapters.postgres.identity.joining.domains import PostgresJoinRequests, PostgresTenantDomains
from adapters.postgres.identity.joining.former_members import PostgresFormerMembers
from adapters.postgres.identity.joining.invitations import PostgresInvitations, PostgresReceivedInvitations
from adapters.postgres.identity.memberships import PostgresMemberships
from adapters.postgres.identity.permissions import PostgresPermissions
from adapters.postgres.identity.roles import PostgresRoles
from adapters.postgres.identity.self_service.personal_data import PostgresPersonalRecords
from adapters.postgres.identity.service_accounts.accounts import PostgresServiceAccounts
from adapters.postgres.identity.service_accounts.keys import PostgresApiKeys
from adapters.postgres.identity.sessions import PostgresSessions
from adapters.postgres.identity.signing_keys import PostgresSigningKeys, PostgresStoredSecrets
from adapters.postgres.identity.social import PostgresSocialIdentities
from adapters.postgres.identity.tenants import PostgresTenants
from adapters.postgres.identity.used_nonces import PostgresUsedNonces
from adapters.postgres.identity.users import PostgresUsers
from adapters.postgres.operations.audit import PostgresAuditTrail
from adapters.postgres.operations.outbox import PostgresOutbox, PostgresOutboxState
from adapters.postgres.operations.retention import PostgresRetention
from adapters.postgres.operations.token_versions import PostgresTokenVersions
from application.ports.runtime import Ids
from domain.entities.declaration import Registry
from domain.scope import Scope


@dataclass(frozen=True, slots=True)
class PostgresTransaction:
    connection: ServiceConnection
    registry: Registry
    ids: Ids
    scope: Scope
    searches: Searches = NO_SEARCHES

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        # ends with the transaction, or hides below the next one: to release it would be a round trip for nothing
        await self.connection.execute("SAVEPOINT part")
        try:
            yield
        except Exception:
            if not self.connection.is_closed():
                await self.connection.execute("ROLLBACK TO SAVEPOINT part")
            raise

    @property
    def users(self) -> PostgresUsers:
        return PostgresUsers(self.connection)

    @property
    def memberships(self) -> PostgresMemberships:
        return PostgresMemberships(self.connection)

    @property
    def roles(self) -> PostgresRoles:
        return PostgresRoles(self.connection)

    @property
    def tenants(self) -> PostgresTenants:
        return PostgresTenants(self.connection)

    @property
    def sessions(self) -> PostgresSessions:
        return PostgresSessions(self.connection, self.ids)

    @property
    def service_accounts(self) -> PostgresServiceAccounts:
        return PostgresServiceAccounts(self.connection)

    @property
    def api_keys(self) -> PostgresApiKeys:
        return PostgresApiKeys(self.connection)

    @property
    def attempts(self) -> PostgresAttempts:
        return PostgresAttempts(self.connection)

    @property
    def token_versions(self) -> PostgresTokenVersions:
        return PostgresTokenVersions(self.connection)

    @property
    def permissions(self) -> PostgresPermissions:
        return PostgresPermissions(self.connection)

    @property
    def audit(self) -> PostgresAuditTrail:
        return PostgresAuditTrail(self.connection, self.ids)

    @property
    def outbox(self) -> PostgresOutbox:
        return PostgresOutbox(self.connection)

    @property
    def outbox_state(self) -> PostgresOutboxState:
        return PostgresOutboxState(self.connection)

    @property
    def one_time_tokens(self) -> PostgresOneTimeTokens:
        return PostgresOneTimeTokens(self.connection)

    @property
    def email_changes(self) -> PostgresEmailChanges:
        return PostgresEmailChanges(self.connection)

    @property
    def credentials(self) -> PostgresCredentials:
        return PostgresCredentials(self.connection)

    @property
    def keys(self) -> PostgresSigningKeys:
        return PostgresSigningKeys(self.connection)

    @property
    def used_nonces(self) -> PostgresUsedNonces:
        return PostgresUsedNonces(self.connection)

    @property
    def social(self) -> PostgresSocialIdentities:
        return PostgresSocialIdentities(self.connection)

    @property
    def invitations(self) -> PostgresInvitations:
        return PostgresInvitations(self.connection, self.ids)

    @property
    def received(self) -> PostgresReceivedInvitations:
        return PostgresReceivedInvitations(self.connection)

    @property
    def domains(self) -> PostgresTenantDomains:
        return PostgresTenantDomains(self.connection)

    @property
    def join_requests(self) -> PostgresJoinRequests:
        return PostgresJoinRequests(self.connection)

    @property
    def former_members(self) -> PostgresFormerMembers:
        return PostgresFormerMembers(self.connection)

    @property
    def personal(self) -> PostgresPersonalRecords:
        return PostgresPersonalRecords(self.connection)

    @property
    def imported(self) -> PostgresImportedHashes:
        return PostgresImportedHashes(self.connection)

    @property
    def stored_secrets(self) -> PostgresStoredSecrets:
        return PostgresStoredSecrets(self.connection)

    @property
    def factors(self) -> PostgresFactors:
        return PostgresFactors(self.connection)

    @property
    def recovery_codes(self) -> PostgresRecoveryCodes:
        return PostgresRecoveryCodes(self.connection)

    @property
    def passkey_handles(self) -> PostgresPasskeyHandles:
        return PostgresPasskeyHandles(self.connection)

    @property
    def records(self) -> PostgresRecords:
        return PostgresRecords(self.connection, self.registry, self.scope, self.searches)

    @property
    def answers(self) -> PostgresIdempotencyStore:
        return PostgresIdempotencyStore(self.connection)

    @property
    def retention(self) -> PostgresRetention:
        return PostgresRetention(self.connection)

    @property
    def history(self) -> PostgresHistory:
        return PostgresHistory(self.connection, self.scope)

    @property
    def transfers(self) -> PostgresTransfers:
        return PostgresTransfers(self.connection, self.registry, self.scope)
