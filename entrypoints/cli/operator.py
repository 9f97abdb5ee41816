"""The operator as a caller. Commands have every permission, and the operator needs no account."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast
from uuid import UUID

from domain.identity.users import Tenant
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant
from entrypoints.assembly.adapters import Adapters, open_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.assembly.use_cases import Services, assemble
from entrypoints.settings.settings import Settings
from entrypoints.terminal.errors import CommandError

CLIENT = Client(address="", network="", device="command line", request_id="")


def operator(tenant_id: UUID | None = SYSTEM_TENANT_ID) -> Caller:
    """Return the caller in a tenant; in ``system``, the operator acts on users of all tenants."""
    return Caller(
        user_id=cast(UUID, None),  # rows, history and audit trail name no user: the operator may have no account
        session_id=UUID(int=0),
        tenant_id=tenant_id,
        name="",
        email="",
        roles=(),
        permissions=("*",),
        is_super_admin=True,
        app_id=None,
        issued={},
        expires_at=0,
    )


@asynccontextmanager
async def open_prepared(settings: Settings) -> AsyncIterator[tuple[Adapters, Services]]:
    """Open the use cases; first create the tenant ``system`` and the shipped roles if the service never started."""
    async with open_adapters(settings, load_registry(settings.entities)) as adapters:
        services = assemble(adapters, settings)
        await services.first_start.ensure_system()
        yield adapters, services


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    async with open_prepared(settings) as (_, services):
        yield services


async def tenant_named(adapters: Adapters | Services, identifier: str) -> Tenant:
    """Return the tenant. Raises CommandError for an unknown identifier."""
    async with adapters.database.read_only(EveryTenant()) as read:
        found = await read.tenants.by_identifier(identifier)
    if found is None:
        raise CommandError(f"There is no tenant {identifier!r}: `tenantry tenants list` shows all of them.")
    return found


async def operator_in(services: Services, identifier: str) -> Caller:
    """Return the operator in the tenant. Raises CommandError for an unknown identifier."""
    return operator((await tenant_named(services, identifier)).id)
