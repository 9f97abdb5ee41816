"""Ports of joining tenants."""

from adapters.memory.identity.joining.domains import MemoryFormerMembers, MemoryJoinRequests, MemoryTenantDomains
from adapters.memory.identity.joining.invitations import MemoryInvitations, MemoryReceivedInvitations
from adapters.memory.store import MemoryContext, Retained
from domain.parts.joining import FORMER_ADDRESSES, INVITATIONS, JOIN_REQUESTS


class MemoryJoiningPorts(MemoryContext):
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


RETAINED: Retained = {
    INVITATIONS: lambda store: (
        store.invitations,
        {key: invitation.ended_at or invitation.expires_at for key, invitation in store.invitations.items()},
    ),
    JOIN_REQUESTS: lambda store: (
        store.join_requests,
        {key: request.ended_at or request.created_at for key, request in store.join_requests.items()},
    ),
    FORMER_ADDRESSES: lambda store: (store.former_addresses, dict(store.former_addresses)),
}
