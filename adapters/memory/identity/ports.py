"""Ports of accounts, logins and administration."""

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
from adapters.memory.identity.tenants import MemoryTenants
from adapters.memory.identity.users import MemoryUsers
from adapters.memory.store import MemoryContext


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
