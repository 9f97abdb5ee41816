"""Ports of accounts, logins and administration."""

from adapters.postgres.context import PostgresContext
from adapters.postgres.identity.accounts import (
    PostgresCredentials,
    PostgresEmailChanges,
    PostgresImportedHashes,
    PostgresOneTimeTokens,
    PostgresUsedNonces,
)
from adapters.postgres.identity.applications import PostgresApplications
from adapters.postgres.identity.attempts import PostgresAttempts
from adapters.postgres.identity.memberships import PostgresMemberships
from adapters.postgres.identity.roles import PostgresPermissions, PostgresRoles
from adapters.postgres.identity.sessions import PostgresSessions
from adapters.postgres.identity.signing_keys import PostgresSigningKeys, PostgresStoredSecrets
from adapters.postgres.identity.social import PostgresSocialIdentities
from adapters.postgres.identity.tenants import PostgresTenants
from adapters.postgres.identity.users import PostgresUsers


class PostgresIdentityPorts(PostgresContext):
    __slots__ = ()

    @property
    def applications(self) -> PostgresApplications:
        return PostgresApplications(self.connection)

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
    def permissions(self) -> PostgresPermissions:
        return PostgresPermissions(self.connection)

    @property
    def attempts(self) -> PostgresAttempts:
        return PostgresAttempts(self.connection)

    @property
    def sessions(self) -> PostgresSessions:
        return PostgresSessions(self.connection, self.ids)

    @property
    def used_nonces(self) -> PostgresUsedNonces:
        return PostgresUsedNonces(self.connection)

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
    def imported(self) -> PostgresImportedHashes:
        return PostgresImportedHashes(self.connection)

    @property
    def social(self) -> PostgresSocialIdentities:
        return PostgresSocialIdentities(self.connection)

    @property
    def keys(self) -> PostgresSigningKeys:
        return PostgresSigningKeys(self.connection)

    @property
    def stored_secrets(self) -> PostgresStoredSecrets:
        return PostgresStoredSecrets(self.connection)
