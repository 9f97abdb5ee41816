"""Domains of tenants and requests to join, in the database; and the records of the DNS."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.invitations import InvitationTransaction
from domain.identity.domains import JoinRequest, JoinStatus, TenantDomain
from domain.identity.users import Role


class DnsUnavailable(Exception):
    """No server gave an answer, so that nothing is known about the name."""


class DnsRecords(Protocol):
    async def texts(self, name: str) -> Sequence[str]:
        """Texts of the TXT records at this very name; empty where there are none. Raises DnsUnavailable.

        The parts of a record are joined. What an alias (CNAME) of the name leads to does not count.
        """
        ...


class ListedDomain(Struct, frozen=True):
    """A domain with the names of its roles that still exist, by name."""

    domain: TenantDomain
    roles: tuple[str, ...]


class ListedJoinRequest(Struct, frozen=True):
    """A request with address and name of the account."""

    request: JoinRequest
    email: str
    full_name: str


class DomainUsage(Struct, frozen=True):
    """Whether another tenant has verified the domain, and the number of domains that the tenant has."""

    is_taken: bool
    count: int


class TenantDomains(Protocol):
    async def all(self, tenant_id: UUID) -> list[ListedDomain]:
        """The tenant's domains, by name."""
        ...

    async def lock(self, tenant_id: UUID, domain: str) -> TenantDomain | None:
        """The domain, locked until the transaction ends."""
        ...

    async def usage(self, tenant_id: UUID, domain: str) -> DomainUsage:
        """State before a domain is saved; whoever asks for the same tenant waits until the transaction ends."""
        ...

    async def save(self, domain: TenantDomain) -> None:
        """Stores the domain, new or changed. Raises Conflict on ``domain`` when it is verified for another tenant."""
        ...

    async def remove(self, tenant_id: UUID, domain: str) -> bool:
        """Removes the domain; False when there is none."""
        ...

    async def joinable(self) -> list[str]:
        """Every domain by which people come into an open tenant: verified, and with a mode other than off."""
        ...

    async def verified(self, domain: str) -> TenantDomain | None:
        """The verified domain of an open tenant."""
        ...

    async def take_due(self, before: datetime, at: datetime, most: int) -> list[TenantDomain]:
        """Takes verified domains that were last checked before; each goes to one caller and counts as checked ``at``.

        Locked rows are left to the next round.
        """
        ...


class JoinRequests(Protocol):
    async def add(self, request: JoinRequest) -> bool:
        """Stores the request; False when the user has made one already, whatever became of it."""
        ...

    async def page(self, tenant_id: UUID, page: int, page_size: int) -> tuple[list[ListedJoinRequest], int]:
        """Pending requests, the oldest first, and their total."""
        ...

    async def lock(self, tenant_id: UUID, user_id: UUID) -> JoinRequest | None:
        """The user's request, locked until the transaction ends."""
        ...

    async def end(self, tenant_id: UUID, user_id: UUID, status: JoinStatus, at: datetime, by: UUID | None) -> bool:
        """Ends a pending request; of parallel calls one gets True."""
        ...

    async def roles(self, tenant_id: UUID, role_ids: Sequence[UUID], name: str) -> list[Role]:
        """Roles that approvals give: of these ids, or of the name; the tenant's first. Nothing is locked."""
        ...


class DomainTransaction(InvitationTransaction, Protocol):
    """Parts of the database that joining by domain needs."""

    @property
    def domains(self) -> TenantDomains: ...
    @property
    def join_requests(self) -> JoinRequests: ...
