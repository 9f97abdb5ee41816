"""Locks of rows for rules of concurrent writes. A lock on a row that all tenants share does not block other tenants."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from uuid import UUID

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.writing.removal_statements import lock_rows
from adapters.postgres.statements.running import fetch
from adapters.postgres.statements.writing import is_foreign
from application.ports.entities.records import Values
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import NO_LIMITS

LOCKS = 64
"""Number of advisory locks that a tenant's rows share, because each lock needs shared memory of the server."""
TAKE = "SELECT pg_advisory_xact_lock(number) FROM unnest($1::bigint[]) AS turn (number)"


async def lock_referred_rows(
    connection: ServiceConnection, registry: Registry, model: EntityModel, tenant: UUID | None, rows: Sequence[Values]
) -> None:
    """Lock the referenced rows, each entity's in one order, before each row's rule requests them.

    ``tenant`` is None for rows shared by all tenants.
    """
    if tenant is not None:
        await take_advisory_locks(connection, tenant, shared_references(registry, model, rows))
    referred: dict[str, set[UUID]] = {}
    for field in model.declared:
        if field.reference is not None and not is_foreign(registry, model, field):
            ids = {each for row in rows if isinstance(each := row.get(field.name), UUID)}
            referred[field.reference.target] = referred.get(field.reference.target, set()) | ids
    for plural in sorted(plural for plural, ids in referred.items() if ids):
        target = registry[plural]
        owned = {"tenant": tenant if target.tenant_owned else None, "ids": list(referred[plural])}
        await fetch(connection, lock_rows(registry, target, NO_LIMITS, is_final=False), owned)


async def take_advisory_locks(connection: ServiceConnection, tenant: UUID, ids: Iterable[UUID]) -> None:
    """Acquire the advisory lock of each row until the transaction ends; each tenant has separate locks."""
    # Lock in one order, so that two transactions cannot deadlock.
    if numbers := sorted({_number(tenant, row_id) for row_id in ids}):
        await connection.execute(TAKE, numbers)


def shared_fields(registry: Registry, model: EntityModel) -> list[str]:
    """Return names of fields in which a tenant's row references rows shared by all tenants."""
    referring = (field for field in model.declared if field.reference is not None)
    return [field.name for field in referring if is_foreign(registry, model, field)]


def shared_references(registry: Registry, model: EntityModel, rows: Iterable[Values]) -> Iterator[UUID]:
    """Yield ids of shared rows that these rows of a tenant reference."""
    names = shared_fields(registry, model)
    for row in rows:
        for name in names:
            row_id = row.get(name)
            if isinstance(row_id, UUID):
                yield row_id


def _number(tenant: UUID, row_id: UUID) -> int:
    place = row_id.int % LOCKS
    digest = blake2b(b"tenantry.turns" + tenant.bytes + bytes([place]), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
