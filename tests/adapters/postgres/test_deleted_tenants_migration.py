"""Migration 0078: what tenants that were deleted before it went on to hold."""

from datetime import timedelta

import asyncpg

from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase

ADD_TENANT = """
INSERT INTO tenants (id, name, identifier, settings, created_at, deleted_at) VALUES ($1, $2, $2, '{}', $3, $4)"""
ADD_USER = """
INSERT INTO users (id, email, email_key, full_name, created_at, updated_at) VALUES ($1, $2, $2, 'x', $3, $3)"""
ADD_MEMBER = "INSERT INTO memberships (tenant_id, user_id, is_default, joined_at) VALUES ($1, $2, $3, $4)"
ADD_PROGRAM = "INSERT INTO service_accounts (tenant_id, id, name, description, created_at) VALUES ($1, $1, 'p', '', $2)"
ADD_DOMAIN = """
INSERT INTO tenant_domains (tenant_id, domain, mode, role_ids, proof, state, created_at, checked_at)
VALUES ($1, $2, 'join', '{}', 'x', 'verified', $3, $3)"""
TENANTS = ("gone", "younger", "older")
# Tenants of each user from the oldest membership on, and the one that is marked as the default.
MEMBERS = {
    "moves": (("gone", "older", "younger"), "gone", "older"),
    "stays": (("older", "gone", "younger"), "younger", "younger"),
    "none": (("gone", "younger"), None, "younger"),
    "alone": (("gone",), "gone", None),
}


async def test_tenants_that_are_deleted_give_up_what_they_held(empty_database: NewDatabase, registry: Registry) -> None:
    url = await empty_database()
    await run_command(url, metadata_for(registry), (VERSIONS,), lambda commands: commands.upgrade("0077"))
    connection = await asyncpg.connect(url)
    try:
        role = new_id()
        tenants, users = {name: new_id() for name in TENANTS}, {name: new_id() for name in MEMBERS}
        await connection.execute(
            "INSERT INTO roles (id, name, description, permissions) VALUES ($1, 'R', '', '{}')", role
        )
        for name, tenant_id in tenants.items():
            await connection.execute(ADD_TENANT, tenant_id, name, NOW, NOW if name == "gone" else None)
            await connection.execute(ADD_PROGRAM, tenant_id, NOW)
            await connection.execute("INSERT INTO service_account_roles VALUES ($1, $1, $2)", tenant_id, role)
            await connection.execute(ADD_DOMAIN, tenant_id, f"{name}.example", NOW)
        for name, (joined, marked, _) in MEMBERS.items():
            await connection.execute(ADD_USER, users[name], f"{name}@example.com", NOW)
            for days, place in enumerate(joined):
                member = (tenants[place], users[name])
                await connection.execute(ADD_MEMBER, *member, place == marked, NOW + timedelta(days))
                await connection.execute("INSERT INTO membership_roles VALUES ($1, $2, $3)", *member, role)
        await upgrade(url, registry)
        defaults = await connection.fetch("SELECT user_id, tenant_id FROM memberships WHERE is_default")
        places = {
            table: await connection.fetch(f"SELECT tenant_id FROM {table}")
            for table in ("membership_roles", "service_account_roles", "tenant_domains", "memberships")
        }
    finally:
        await connection.close()
    assert {row["user_id"]: row["tenant_id"] for row in defaults} == {
        users[name]: tenants[default] for name, (_, _, default) in MEMBERS.items() if default is not None
    }
    living = [tenants["older"], tenants["younger"]]
    for table in ("service_account_roles", "tenant_domains"):
        assert sorted(row["tenant_id"] for row in places[table]) == sorted(living), table
    assert {row["tenant_id"] for row in places["membership_roles"]} == set(living)
    assert len(places["membership_roles"]) == 5
    assert len(places["memberships"]) == sum(len(joined) for joined, _, _ in MEMBERS.values())
