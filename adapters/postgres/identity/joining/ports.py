"""Ports of joining tenants."""

from sqlalchemy import func

from adapters.postgres.context import PostgresContext
from adapters.postgres.identity.joining.domains import (
    PostgresFormerMembers,
    PostgresJoinRequests,
    PostgresTenantDomains,
)
from adapters.postgres.identity.joining.invitations import PostgresInvitations, PostgresReceivedInvitations
from adapters.postgres.identity.listings import TABLES
from adapters.postgres.statements.aged_rows import Retained, removing
from domain.parts.joining import FORMER_ADDRESSES, INVITATIONS, JOIN_REQUESTS


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


_INVITATIONS, _REQUESTS, _ADDRESSES = (TABLES[name] for name in ("invitations", "join_requests", "former_addresses"))

RETAINED: Retained = {
    INVITATIONS: removing(_INVITATIONS, func.coalesce(_INVITATIONS.c.ended_at, _INVITATIONS.c.expires_at)),
    JOIN_REQUESTS: removing(_REQUESTS, func.coalesce(_REQUESTS.c.ended_at, _REQUESTS.c.created_at)),
    FORMER_ADDRESSES: removing(_ADDRESSES, _ADDRESSES.c.marked_at),
}
