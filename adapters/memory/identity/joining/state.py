"""State of joining tenants."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from domain.identity.domains import JoinRequest, TenantDomain
from domain.identity.invitations import Invitation


@dataclass(kw_only=True)
class JoiningState:
    invitations: dict[tuple[UUID, UUID], Invitation] = field(default_factory=dict)
    domains: dict[tuple[UUID, str], TenantDomain] = field(default_factory=dict)
    join_requests: dict[tuple[UUID, UUID], JoinRequest] = field(default_factory=dict)
    former_members: dict[tuple[UUID, UUID], bool] = field(default_factory=dict)
    former_addresses: dict[tuple[UUID, bytes], datetime] = field(default_factory=dict)
