"""Ports of accounts, logins and administration."""

import sqlalchemy as sa
from sqlalchemy import func

from adapters.postgres.context import PostgresContext
from adapters.postgres.identity.accounts import (
    PostgresCredentials,
    PostgresEmailChanges,
    PostgresImportedHashes,
    PostgresOneTimeTokens,
    PostgresSocialIdentities,
    PostgresUsedNonces,
)
from adapters.postgres.identity.applications import PostgresApplications
from adapters.postgres.identity.attempts import PostgresAttempts
from adapters.postgres.identity.listings import TABLES
from adapters.postgres.identity.memberships import PostgresMemberships
from adapters.postgres.identity.roles import PostgresPermissions, PostgresRoles
from adapters.postgres.identity.sessions import PostgresSessions
from adapters.postgres.identity.signing_keys import PostgresSigningKeys, PostgresStoredSecrets
from adapters.postgres.identity.tenants import PostgresTenants
from adapters.postgres.identity.users import PostgresUsers
from adapters.postgres.statements.aged_rows import BEFORE, Retained, removing
from adapters.postgres.statements.compiled import constant
from domain.parts.account import EMAIL_CHANGES, LINKS
from domain.parts.login import ENDED_SESSIONS, FAILURES, NETWORKS, OLD_SESSIONS, USED_NONCES


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


_LARGEST = 9_223_372_036_854_775_807
_SESSIONS, _ATTEMPTS, _LINKS = TABLES["sessions"], TABLES["login_attempts"], TABLES["one_time_tokens"]
_NONCES, _CHANGES, _WAITING = TABLES["spent_ids"], TABLES["email_changes"], TABLES["outbox"].alias("o")
# Retain the row of an active lock, regardless of its age.
_IS_UNLOCKED = sa.or_(_ATTEMPTS.c.locked_until.is_(None), _ATTEMPTS.c.locked_until <= BEFORE)
# A mail older than the link would issue an older link again. The row prevents this.
_FIRST_WAITING = sa.select(func.coalesce(func.min(_WAITING.c.number), constant(_LARGEST))).scalar_subquery()

RETAINED: Retained = {
    ENDED_SESSIONS: removing(_SESSIONS, _SESSIONS.c.ended_at),
    OLD_SESSIONS: removing(_SESSIONS, _SESSIONS.c.created_at),
    FAILURES: removing(_ATTEMPTS, _ATTEMPTS.c.tried_at, _ATTEMPTS.c.known_at.is_(None), _IS_UNLOCKED),
    NETWORKS: removing(_ATTEMPTS, _ATTEMPTS.c.tried_at, _ATTEMPTS.c.known_at.is_not(None), _IS_UNLOCKED),
    USED_NONCES: removing(_NONCES, _NONCES.c.expires_at),
    LINKS: removing(_LINKS, _LINKS.c.expires_at, _LINKS.c.number < _FIRST_WAITING),
    EMAIL_CHANGES: removing(_CHANGES, _CHANGES.c.expires_at),
}
