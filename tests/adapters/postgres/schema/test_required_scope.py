"""The migration of policies that showed nothing without a scope to policies that raise."""

from adapters.postgres.migrations import inspection
from adapters.postgres.schema.row_security import SEES, SEES_ALL, SEES_ON_NODE
from tests.adapters.postgres.migrations.changed_books import Books, declared

BEFORE = "(SELECT current_setting('tenantry.scope', true) = 'every')"
TENANT = "nullif(nullif(current_setting('tenantry.scope', true), ''), 'every')::uuid"
WHOLE = f"{BEFORE} OR tenant_id = (SELECT {TENANT})"
ON_NODE = f"current_setting('tenantry.scope', true) = 'every' OR tenant_id = {TENANT}"
POLICIES = "SELECT tablename::text, policyname::text, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2"


async def test_policies_of_an_earlier_version_raise_after_the_migration(books: Books) -> None:
    """Those of the service, of partitions, of a project's entity, and of a table that Citus distributes."""
    registry = declared([("title", str)])
    written = await books.migrate(registry)
    fresh = await books.ask(POLICIES)
    for table, policy, command, using, check in fresh:
        if policy == "tenant_rows" or policy.startswith("every_"):
            condition = WHOLE if policy == "tenant_rows" else BEFORE
            parts = [f"USING ({condition})"] * bool(using) + [f"WITH CHECK ({condition})"] * bool(check)
            assert parts, command
            await books.run(f"ALTER POLICY {policy} ON {table} {' '.join(parts)}")
    await books.run(f"ALTER POLICY tenant_rows ON categories USING ({ON_NODE}) WITH CHECK ({ON_NODE})")
    assert await books.ask(POLICIES) != fresh
    # The project's file was written for the version before.
    file = written.path.read_text()
    assert '"0008"' in file
    written.path.write_text(file.replace('"0008"', '"0007"'))
    await books.apply(registry)
    assert [row for row in await books.ask(POLICIES) if row[0] != "categories"] == [
        row for row in fresh if row[0] != "categories"
    ]
    assert (await inspection.examined(books.url, registry, books.folders)).gaps == []
    await books.run(f"ALTER POLICY tenant_rows ON products USING ({SEES_ON_NODE}) WITH CHECK ({SEES_ON_NODE})")
    of_nodes = (
        "SELECT count(DISTINCT qual) FROM pg_policies WHERE tablename IN ('categories', 'products') AND cmd = 'ALL'"
    )
    assert await books.ask(of_nodes) == [(1,)]
    assert "true)" not in f"{SEES}{SEES_ALL}{SEES_ON_NODE}"
