"""The header ``X-Tenant-Scope``: a super-admin's word that a request reaches beyond their own tenant."""

from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from adapters.http.request.endpoint import Call, Endpoint, Parameter
from application.entities.cross_tenant_access import CrossTenantAccess
from domain.errors import BadRequest, Forbidden
from domain.scope import EveryTenant, OneTenant, Scope

NAME = b"x-tenant-scope"
READING = Parameter(
    "X-Tenant-Scope",
    {"type": "string"},
    "For super-admins: `all` reads over all tenants, whose rows then show `tenantId`; a tenant's id reads in that one.",
    "header",
)
WRITING = Parameter(
    "X-Tenant-Scope",
    {"type": "string", "format": "uuid"},
    "For super-admins: the id of the tenant to write in.",
    "header",
)


class Bypassing(Protocol):
    @property
    def cross_tenant_access(self) -> CrossTenantAccess: ...


@dataclass(frozen=True)
class Reaching:
    """Whose rows a request is about: those of its own tenant, unless the header says otherwise."""

    bypass: CrossTenantAccess
    operation: str
    is_write: bool

    async def scope(self, call: Call) -> Scope:
        """Raises Forbidden for all but super-admins, whatever the header says."""
        caller, given = call.signed_in, call.headers.get(NAME)
        if given is None:
            return caller.tenant
        if not caller.is_super_admin:
            raise Forbidden
        scope = _read(given.strip())
        if self.is_write and isinstance(scope, EveryTenant):
            raise BadRequest("Rows are written in one tenant at a time: name it in X-Tenant-Scope.")
        await self.bypass.open(caller, scope, self.operation, call.client)
        return scope


def _read(given: bytes) -> Scope:
    if given == b"all":
        return EveryTenant()
    try:
        text = given.decode("ascii")
        found = UUID(text)
    except ValueError:
        raise BadRequest("X-Tenant-Scope takes `all` or the id of a tenant.") from None
    if str(found) != text.lower():
        raise BadRequest("X-Tenant-Scope takes `all` or the id of a tenant.")
    return OneTenant(found)


def reaching(bypass: CrossTenantAccess, endpoint: Endpoint) -> Endpoint:
    """The endpoint, taking the header."""
    is_write = endpoint.method != "GET"
    parameter = WRITING if is_write else READING
    scope = Reaching(bypass, endpoint.operation, is_write).scope
    return replace(endpoint, scope=scope, parameters=(*endpoint.parameters, parameter))
