"""Migration 0078: what deleted tenants held before their deletion took it."""

import asyncpg

from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

LATER = NOW.replace(year=NOW.year + 1)


async def test_defaults_move_and_roles_and_domains_go(empty_database: NewDatabase, registry: Registry) -> None:
    url = await empty_database()
    await run_command(url, metadata_for(registry), (VERSIONS,), lambda commands: commands.upgrade("0077"))
    gone, older, newer, user_id, role_id = (new_id() for _ in range(5))
    connection = await asyncpg.connect(url)
    try:
        for tenant_id, deleted_at in ((gone, NOW), (older, None), (newer, None)):
            await connection.execute(
                "INSERT INTO tenants (id, name, identifier, is_active, created_at, settings, deleted_at)"
                " VALUES ($1, 'x', $2, true, $3, '{}', $4)",
                *(tenant_id, tenant_id.hex, NOW, deleted_at),
            )
        await connection.execute(
            "INSERT INTO users (id, email, email_key, full_name, created_at, updated_at)"
            " VALUES ($1, 'a', 'a', 'x', $2, $2)",
            *(user_id, NOW),
        )
        await connection.execute(
            "INSERT INTO roles (id, name, description, permissions) VALUES ($1, 'Held', '', '{}')", role_id
        )
        for tenant_id, joined_at in ((gone, NOW), (older, NOW), (newer, LATER)):
            await connection.execute(
                "INSERT INTO memberships (tenant_id, user_id, is_default, joined_at) VALUES ($1, $2, $3, $4)",
                *(tenant_id, user_id, tenant_id == gone, joined_at),
            )
            await connection.execute(
                "INSERT INTO membership_roles (tenant_id, user_id, role_id) VALUES ($1, $2, $3)",
                *(tenant_id, user_id, role_id),
            )
        await upgrade(url, registry)
        default = await connection.fetch("SELECT tenant_id FROM memberships WHERE is_default")
        holders = await connection.fetch("SELECT tenant_id FROM membership_roles ORDER BY 1")
    finally:
        await connection.close()
    assert [row["tenant_id"] for row in default] == [older]
    assert [row["tenant_id"] for row in holders] == sorted((older, newer))
