"""The header ``X-Tenant-Scope``: a super-admin's word that a request reaches beyond their own tenant."""

from uuid import UUID

from application.entities.cross_tenant_access import CrossTenantAccess
from domain.audit import Client
from domain.errors import BadRequest
from domain.scope import Caller, EveryTenant, OneTenant, Scope

NAME = b"x-tenant-scope"


async def open_scope(
    access: CrossTenantAccess, caller: Caller, given: bytes, operation: str, client: Client, *, is_write: bool
) -> Scope:
    """The tenants that the header names, with a line in the audit trail; the caller is a super-admin."""
    scope = _read(given.strip())
    if is_write and isinstance(scope, EveryTenant):
        raise BadRequest("Rows are written in one tenant at a time: name it in X-Tenant-Scope.")
    await access.open(caller, scope, operation, client)
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
