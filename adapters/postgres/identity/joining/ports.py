"""Ports of joining tenants."""

from adapters.postgres.context import PostgresContext
from adapters.postgres.identity.joining.domains import (
    PostgresFormerMembers,
    PostgresJoinRequests,
    PostgresTenantDomains,
)
from adapters.postgres.identity.joining.invitations import PostgresInvitations, PostgresReceivedInvitations


class PostgresJoiningPorts(PostgresContext):
    __slots__ = ()

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
