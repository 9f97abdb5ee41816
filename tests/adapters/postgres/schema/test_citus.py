"""Distribution by Citus, as far as it can be checked without Citus: keys, statements, and what requests send."""

import re
from typing import Annotated
from uuid import UUID

import asyncpg
import pytest
import sqlalchemy as sa
from msgspec import Struct

from adapters.postgres.schema import citus
from adapters.postgres.schema.row_security import ROLE
from adapters.postgres.schema.schema import metadata_for
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity, mine, ref, unique
from domain.entities.registry import build_registry
from entrypoints.cli.reports.citus import report
from entrypoints.terminal.errors import CommandError
from tests.builders import new_id
from tests.conftest import NewDatabase
from tests.golden.test_select_statements import GOLDEN
from tests.library import LIBRARY
from tests.twins.everything import DECLARED

CATALOGUE = build_registry([*ENTITIES, *BUILTIN_ENTITIES])
ALL_KINDS = build_registry([*DECLARED, *BUILTIN_ENTITIES])


@entity("lands", tenant_owned=False, history=True)
class Land(Struct, rename="camel", kw_only=True):
    name: str


@entity("towns", unique=[unique("name")])
class Town(Struct, rename="camel", kw_only=True):
    name: str
    land_id: Annotated[UUID | None, ref("lands")] = None


@pytest.mark.parametrize("registry", [CATALOGUE, ALL_KINDS], ids=["catalogue", "every kind"])
def test_citus_can_distribute_every_key(registry: Registry) -> None:
    """Primary keys, unique indexes and foreign keys of all tables, histories included."""
    links = [f"{model.name}: {field.name} has links" for model in registry for field in model.links]
    assert [obstacle.partition(",")[0] for obstacle in citus.obstacles(registry)] == links
    placed = citus.placement(registry)
    assert "row_history" in placed.distributed
    assert {"kept_answers", "users", "memberships", "audit_events", "tenants"} <= set(placed.coordinator)


def test_every_table_has_one_place() -> None:
    placed = citus.placement(CATALOGUE)
    everywhere = [*placed.distributed, *placed.shared, *placed.coordinator]
    assert len(everywhere) == len(set(everywhere))
    assert set(placed.shared) == {"applications", "currencies"}
    assert {"products", "categories", "reviews"} <= set(placed.distributed)


def test_a_declaration_that_citus_refuses_is_reported() -> None:
    registry = build_registry([Land, Town])
    sentence = (
        "Land belongs to no tenant and has history=True: its lines have no tenant, and Citus distributes none "
        "without one."
    )
    assert citus.obstacles(registry) == [sentence]
    with pytest.raises(CommandError, match="Land belongs to no tenant"):
        report(registry)
    assert [line for line in citus.obstacles(build_registry([*LIBRARY])) if "Genre" in line]
    parcels = build_registry([entity("parcels", own=[mine("created_by")], shared=True)(_plain("Parcel"))])
    assert citus.obstacles(parcels) == [
        "Parcel has shared=True: shares refer to memberships, which stay on the coordinator."
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("unique", "towns: by_name is unique without tenant_id."),
        ("local", "towns: fk_user refers to users without tenant_id, or on another node."),
        ("apart", "towns: fk_apart refers to kept_answers without tenant_id, or on another node."),
        ("shared", "lands is copied whole, and fk_town refers to towns, which is not."),
        ("kept", "users is kept whole, and fk_user_town refers to towns, which is not."),
    ],
)
def test_each_kind_of_key_is_examined(change: str, sentence: str) -> None:
    registry = build_registry([entity("lands", tenant_owned=False)(_plain("Land")), entity("towns")(_plain("Town"))])
    assert citus.obstacles(registry) == []
    metadata = metadata_for(registry)
    towns, lands, users = (metadata.tables[name] for name in ("towns", "lands", "users"))
    match change:
        case "unique":
            sa.Index("by_name", towns.c.name, unique=True)
        case "local":
            towns.append_constraint(sa.ForeignKeyConstraint([towns.c.id], [users.c.id], name="fk_user"))
        case "apart":
            kept = metadata.tables["kept_answers"]
            towns.append_constraint(sa.ForeignKeyConstraint([towns.c.id], [kept.c.user_id], name="fk_apart"))
        case "shared":
            lands.append_constraint(sa.ForeignKeyConstraint([lands.c.id], [towns.c.id], name="fk_town"))
        case "kept":
            users.append_constraint(sa.ForeignKeyConstraint([users.c.id], [towns.c.id], name="fk_user_town"))
    placed = citus.placement(registry)
    assert sentence in citus.refused(metadata, placed)


def _plain(name: str) -> type:
    return type(name, (Struct,), {"__annotations__": {"name": str}, "__module__": __name__}, kw_only=True)


_STANDS_FOR_CITUS = """
CREATE FUNCTION create_reference_table(name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    ASSERT NOT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND name IN (conrelid, confrelid));
END $$;
CREATE FUNCTION create_distributed_table(name regclass, by text, colocate_with text DEFAULT '') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    ASSERT NOT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND name IN (conrelid, confrelid));
    -- Citus refuses policies with subqueries
    ASSERT NOT EXISTS (
        SELECT FROM pg_policy
        WHERE polrelid IN (SELECT name UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = name)
        AND pg_get_expr(polqual, polrelid) LIKE '%SELECT%');
    ASSERT colocate_with = '' OR colocate_with::regclass IS NOT NULL;
END $$"""
_POLICIES_OF_HISTORIES = """
SELECT pg_get_expr(polqual, polrelid) FROM pg_policy
WHERE polname = 'tenant_rows' AND polrelid::regclass::text LIKE 'row_history%'"""
_COUNT = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'"


def test_only_tables_that_are_not_distributed_yet_are_distributed() -> None:
    placed = citus.placement(CATALOGUE)
    everything = {*placed.shared, *placed.distributed}
    keys = [str(key.name) for table in metadata_for(CATALOGUE).sorted_tables for key in table.foreign_key_constraints]
    assert citus.statements(CATALOGUE, everything, keys) == []
    made = citus.statements(CATALOGUE, everything - {"reviews"}, keys)
    placing = "SELECT create_distributed_table('reviews', 'tenant_id', colocate_with => 'categories')"
    assert [statement for statement in made if statement.startswith("SELECT")] == [placing]
    held_back = citus.statements(CATALOGUE, everything, [key for key in keys if key != "fk_reviews_product_id"])
    assert next(text for text in held_back if "fk_" in text).startswith("ALTER TABLE reviews ADD")


async def test_the_statements_run_and_row_level_security_holds_afterwards(new_database: NewDatabase) -> None:
    """Functions of the same names stand for Citus's: they check what Citus checks, and move nothing."""
    url, (here, there) = await new_database(), (new_id(), new_id())
    owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    service = await asyncpg.connect(url, server_settings={"role": ROLE})
    try:
        await owner.execute(_STANDS_FOR_CITUS)
        before = await owner.fetchval(_COUNT)
        await owner.execute(";\n".join(citus.statements(CATALOGUE)))
        assert await owner.fetchval(_COUNT) == before
        assert len({row[0] for row in await owner.fetch(_POLICIES_OF_HISTORIES)}) == 1
        for tenant in (here, there):
            await owner.execute(
                "INSERT INTO categories (tenant_id, id, name, created_at, updated_at, version)"
                " VALUES ($1, gen_random_uuid(), 'x', now(), now(), 1)",
                tenant,
            )
        with pytest.raises(asyncpg.UndefinedObjectError, match='parameter "tenantry'):
            await service.fetch("SELECT FROM categories")
        await service.execute(f"SET tenantry.scope = '{here}'")
        assert [row["tenant_id"] for row in await service.fetch("SELECT tenant_id FROM categories")] == [here]
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute("UPDATE categories SET tenant_id = $1", there)
    finally:
        await owner.close()
        await service.close()


_TABLE = r"\b({}) AS (\w+)"


def shards(text: str, distributed: tuple[str, ...]) -> str:
    """``one`` where each use of a distributed table names the same tenant, ``none`` without one, or ``all``."""
    uses = re.findall(_TABLE.format("|".join(distributed)), text)
    if not uses:
        return "none"
    named: list[str] = []
    for _, alias in uses:
        named += re.findall(rf"\b{alias}\.tenant_id = (\$\d+)::UUID", text)
    counted = {alias: sum(other == alias for _, other in uses) for _, alias in uses}
    bound = all(len(re.findall(rf"\b{alias}\.tenant_id = \$", text)) >= uses for alias, uses in counted.items())
    return "one" if bound and len(set(named)) == 1 else "all"


def test_each_statement_of_a_tenants_request_asks_one_shard() -> None:
    """Only a super-admin's scope of every tenant asks all of them."""
    further = ("tasks", "teams", "team_members", "bundles", "bundles__tag_ids", "tags", "items", "items__plan_ids")
    distributed = (*citus.placement(CATALOGUE).distributed, *further)
    parts = [part.partition("\n") for part in re.split(r"^-- ", GOLDEN.read_text(), flags=re.MULTILINE) if part]
    asked = {title: shards(text, distributed) for title, _, text in parts}
    assert len(asked) > 15
    every = {title for title in asked if title.endswith("EveryTenant()")}
    assert {title for title, found in asked.items() if found == "all"} == every
    assert {title for title, found in asked.items() if found == "none"} == {
        title for title in asked if title.startswith(("applications", "currencies"))
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT t.id FROM products AS t WHERE t.tenant_id = $1::UUID", "one"),
        ("SELECT t.id FROM products AS t", "all"),
        ("SELECT t.id FROM products AS t, categories AS t1 WHERE t.tenant_id = $1::UUID", "all"),
        ("SELECT FROM products AS t, reviews AS t1 WHERE t.tenant_id = $1::UUID AND t1.tenant_id = $2::UUID", "all"),
        ("SELECT t.id FROM currencies AS t", "none"),
    ],
)
def test_a_statement_without_the_tenant_is_recognised(text: str, found: str) -> None:
    assert shards(text, citus.placement(CATALOGUE).distributed) == found
