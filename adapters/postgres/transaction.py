"""The rooms of one connection, as the ports name them."""

from dataclasses import dataclass

from adapters.postgres.accounts import PostgresCredentials, PostgresOneTimeTokens
from adapters.postgres.attempts import PostgresAttempts
from adapters.postgres.audit import PostgresAuditTrail
from adapters.postgres.connections import ServiceConnection
from adapters.postgres.copying import PostgresTransfers
from adapters.postgres.history import PostgresHistory
from adapters.postgres.imported import PostgresImportedHashes
from adapters.postgres.kept_answers import PostgresKeptAnswers
from adapters.postgres.keys import PostgresSigningKeys
from adapters.postgres.leftovers import PostgresLeftovers
from adapters.postgres.mails import PostgresOutbox
from adapters.postgres.memberships import PostgresMemberships
from adapters.postgres.permissions import PostgresPermissions
from adapters.postgres.records import PostgresRecords
from adapters.postgres.revocation import PostgresRevocationCounts
from adapters.postgres.roles import PostgresRoles
from adapters.postgres.sessions import PostgresSessions
from adapters.postgres.social import PostgresSocialIdentities
from adapters.postgres.spent_ids import PostgresSpentIds
from adapters.postgres.tenants import PostgresTenants
from adapters.postgres.users import PostgresUsers
from application.ports.world import Ids
from domain.entity import Registry
from domain.scope import Scope


@dataclass(frozen=True, slots=True)
class PostgresTransaction:
    connection: ServiceConnection
    registry: Registry
    ids: Ids
    scope: Scope

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
    def attempts(self) -> PostgresAttempts:
        return PostgresAttempts(self.connection)

    @property
    def counts(self) -> PostgresRevocationCounts:
        return PostgresRevocationCounts(self.connection)

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
    def post(self) -> PostgresOutbox:
        return PostgresOutbox(self.connection)

    @property
    def one_time_tokens(self) -> PostgresOneTimeTokens:
        return PostgresOneTimeTokens(self.connection)

    @property
    def credentials(self) -> PostgresCredentials:
        return PostgresCredentials(self.connection)

    @property
    def keys(self) -> PostgresSigningKeys:
        return PostgresSigningKeys(self.connection)

    @property
    def spent(self) -> PostgresSpentIds:
        return PostgresSpentIds(self.connection)

    @property
    def social(self) -> PostgresSocialIdentities:
        return PostgresSocialIdentities(self.connection)

    @property
    def imported(self) -> PostgresImportedHashes:
        return PostgresImportedHashes(self.connection)

    @property
    def records(self) -> PostgresRecords:
        return PostgresRecords(self.connection, self.registry, self.scope)

    @property
    def answers(self) -> PostgresKeptAnswers:
        return PostgresKeptAnswers(self.connection)

    @property
    def leftovers(self) -> PostgresLeftovers:
        return PostgresLeftovers(self.connection)

    @property
    def history(self) -> PostgresHistory:
        return PostgresHistory(self.connection, self.scope)

    @property
    def transfers(self) -> PostgresTransfers:
        return PostgresTransfers(self.connection, self.registry, self.scope)
