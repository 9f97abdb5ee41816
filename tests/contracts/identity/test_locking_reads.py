"""Reads that lock their rows: a read-only connection refuses them, whatever it is asked to find."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from application.ports.whole_database import Transaction, WholeDatabase
from domain.errors import InternalError
from domain.scope import EveryTenant
from tests.builders import NOW, new_id

ID = new_id()

LOCKING: dict[str, Callable[[Transaction], Awaitable[Any]]] = {
    "a user": lambda tx: tx.memberships.lock(ID),
    "a tenant": lambda tx: tx.tenants.lock(ID),
    "a tenant to remove": lambda tx: tx.tenants.lock_to_remove(ID),
    "a role": lambda tx: tx.roles.lock(ID),
    "roles by name": lambda tx: tx.roles.by_names(ID, ["Member"]),
    "roles of an invitation": lambda tx: tx.received.roles(ID, [ID]),
    "an invitation": lambda tx: tx.invitations.lock(ID, ID),
    "a domain": lambda tx: tx.domains.lock(ID, "example.com"),
    "a request to join": lambda tx: tx.join_requests.lock(ID, ID),
    "keys of an account": lambda tx: tx.api_keys.lock(ID, ID, NOW),
}


@pytest.mark.parametrize("read", LOCKING)
async def test_a_read_that_locks_needs_a_connection_that_writes(database: WholeDatabase, read: str) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await LOCKING[read](tx)
    async with database.autocommit(EveryTenant()) as tx:
        await LOCKING[read](tx)
    with pytest.raises(InternalError, match="A write was tried on a read-only connection"):
        async with database.read_only(EveryTenant()) as tx:
            await LOCKING[read](tx)
