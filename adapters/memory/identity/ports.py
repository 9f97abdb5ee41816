"""Ports of accounts, logins and administration."""

from datetime import datetime
from typing import Any

from adapters.memory.identity.accounts import (
    MemoryCredentials,
    MemoryEmailChanges,
    MemoryImportedHashes,
    MemoryOneTimeTokens,
    MemoryUsedNonces,
)
from adapters.memory.identity.applications import MemoryApplications
from adapters.memory.identity.attempts import MemoryAttempts
from adapters.memory.identity.memberships import MemoryMemberships
from adapters.memory.identity.roles import MemoryPermissions, MemoryRoles
from adapters.memory.identity.sessions import MemorySessions
from adapters.memory.identity.signing_keys import MemorySigningKeys, MemoryStoredSecrets
from adapters.memory.identity.social import MemorySocialIdentities
from adapters.memory.identity.state import Failures
from adapters.memory.identity.tenants import MemoryTenants
from adapters.memory.identity.users import MemoryUsers
from adapters.memory.store import MemoryContext, Retained, Store
from domain.parts.account import EMAIL_CHANGES, LINKS
from domain.parts.login import ENDED_SESSIONS, FAILURES, NETWORKS, OLD_SESSIONS, USED_NONCES


class MemoryIdentityPorts(MemoryContext):
    @property
    def applications(self) -> MemoryApplications:
        return MemoryApplications(self.access)

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
    def permissions(self) -> MemoryPermissions:
        return MemoryPermissions(self.access)

    @property
    def attempts(self) -> MemoryAttempts:
        return MemoryAttempts(self.access)

    @property
    def sessions(self) -> MemorySessions:
        return MemorySessions(self.access, self.ids)

    @property
    def used_nonces(self) -> MemoryUsedNonces:
        return MemoryUsedNonces(self.access)

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
    def imported(self) -> MemoryImportedHashes:
        return MemoryImportedHashes(self.access)

    @property
    def social(self) -> MemorySocialIdentities:
        return MemorySocialIdentities(self.access)

    @property
    def keys(self) -> MemorySigningKeys:
        return MemorySigningKeys(self.access)

    @property
    def stored_secrets(self) -> MemoryStoredSecrets:
        return MemoryStoredSecrets(self.access)


def _last(failures: Failures) -> datetime | None:
    # The last attempt or the end of the following lock.
    times = [at for at in (failures.tried_at, failures.locked_until) if at is not None]
    return max(times, default=None)


def _links(store: Store) -> dict[Any, datetime | None]:
    oldest = min((mail.number for mail in store.outbox.values()), default=None)
    issued = {key: issued.token for key, issued in store.one_time_tokens.items()}
    # Retain links newer than a waiting mail: without them, the mail would issue another link.
    return {key: token.expires_at for key, token in issued.items() if oldest is None or token.number < oldest}


RETAINED: Retained = {
    ENDED_SESSIONS: lambda store: (store.sessions, {key: each.ended_at for key, each in store.sessions.items()}),
    OLD_SESSIONS: lambda store: (store.sessions, {key: each.created_at for key, each in store.sessions.items()}),
    FAILURES: lambda store: (
        store.attempts,
        {key: _last(failures) for key, failures in store.attempts.items() if failures.known_at is None},
    ),
    NETWORKS: lambda store: (
        store.attempts,
        {key: _last(failures) for key, failures in store.attempts.items() if failures.known_at is not None},
    ),
    USED_NONCES: lambda store: (store.used_nonces, dict(store.used_nonces)),
    LINKS: lambda store: (store.one_time_tokens, _links(store)),
    EMAIL_CHANGES: lambda store: (
        store.email_changes,
        {key: change.expires_at for key, change in store.email_changes.items()},
    ),
}
