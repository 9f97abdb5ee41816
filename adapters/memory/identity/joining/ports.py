"""Ports of joining tenants."""

from adapters.memory.identity.joining.domains import MemoryFormerMembers, MemoryJoinRequests, MemoryTenantDomains
from adapters.memory.identity.joining.invitations import MemoryInvitations, MemoryReceivedInvitations
from adapters.memory.store import MemoryContext


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
