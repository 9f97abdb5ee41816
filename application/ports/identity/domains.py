"""Domains of tenants and join requests in the database, and DNS records."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.identity.invitations import InvitationTransaction
from domain.identity.domains import JoinRequest, JoinStatus, TenantDomain
from domain.identity.users import Role


class DnsUnavailable(Exception):
    """No DNS server answered, so the state of the name is unknown."""


class DnsRecords(Protocol):
    async def texts(self, name: str) -> Sequence[str]:
        """Return the texts of TXT records at exactly this name. Raises DnsUnavailable.

        Joins the strings of each record. Ignores records behind an alias (CNAME).
        """
        ...


class ListedDomain(Struct, frozen=True):
    """A domain with the names of its roles, sorted by name and without deleted roles."""

    domain: TenantDomain
    roles: tuple[str, ...]


class ListedJoinRequest(Struct, frozen=True):
    """A join request with the account's address and name."""

    request: JoinRequest
    email: str
    full_name: str


class DomainUsage(Struct, frozen=True):
    """Whether another tenant has verified the domain, and the tenant's number of domains."""

    is_taken: bool
    count: int


class TenantDomains(Protocol):
    async def all(self, tenant_id: UUID) -> list[ListedDomain]:
        """Return the tenant's domains, by name."""
        ...

    async def lock(self, tenant_id: UUID, domain: str) -> TenantDomain | None:
        """Return the domain, locked until the transaction ends."""
        ...

    async def usage(self, tenant_id: UUID, domain: str) -> DomainUsage:
        """Return the usage before a domain is saved; other calls for the tenant wait until the transaction ends."""
        ...

    async def save(self, domain: TenantDomain) -> None:
        """Store a new or changed domain. Raises Conflict on ``domain`` if it is verified for another tenant."""
        ...

    async def remove(self, tenant_id: UUID, domain: str) -> bool:
        """Remove the domain; return False if there is none."""
        ...

    async def joinable(self) -> list[str]:
        """Return all verified domains of open tenants with a joining mode other than off."""
        ...

    async def verified(self, domain: str) -> TenantDomain | None:
        """Return the verified domain of an open tenant."""
        ...

    async def take_due(self, before: datetime, at: datetime, most: int) -> list[TenantDomain]:
        """Claim verified domains last checked before ``before``. Each goes to one caller and counts as checked ``at``.

        Skips locked rows.
        """
        ...


class JoinRequests(Protocol):
    async def add(self, request: JoinRequest) -> bool:
        """Store the request; return False if the user has made one before, with any result."""
        ...

    async def page(self, tenant_id: UUID, page: int, page_size: int) -> tuple[list[ListedJoinRequest], int]:
        """Return pending requests, oldest first, and their total."""
        ...

    async def lock(self, tenant_id: UUID, user_id: UUID) -> JoinRequest | None:
        """Return the user's request, locked until the transaction ends."""
        ...

    async def end(self, tenant_id: UUID, user_id: UUID, status: JoinStatus, at: datetime, by: UUID | None) -> bool:
        """End a pending request; only one of several parallel calls returns True."""
        ...

    async def roles(self, tenant_id: UUID, role_ids: Sequence[UUID], name: str) -> list[Role]:
        """Return the roles for approvals, by ids or name, the tenant's before the system's. Locks no rows."""
        ...


class DomainTransaction(InvitationTransaction, Protocol):
    """Database parts for joining by domain."""

    @property
    def domains(self) -> TenantDomains: ...
    @property
    def join_requests(self) -> JoinRequests: ...
