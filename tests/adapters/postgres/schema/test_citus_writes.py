"""Statements that write, by what Citus would do with them: which nodes each asks, as far as its text tells.

Citus sends a statement to one node where each use of a distributed table is compared with the same tenant, in the place
of that use: what a common table expression hands on is no constant to its planner.
"""

import re
from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

import pytest
from msgspec import Struct

from adapters.postgres.connection.poolers import spelled_for_citus
from adapters.postgres.entities import idempotency
from adapters.postgres.entities.files import loading_statements as loading
from adapters.postgres.entities.writing import bulk_statements as bulk
from adapters.postgres.entities.writing import removal_statements as removal
from adapters.postgres.entities.writing import single_row_statements as single
from adapters.postgres.entities.writing import unique_swaps, unique_violations
from adapters.postgres.schema import citus
from domain.entities.declaration import EntityModel
from domain.entities.markers import entity, ref, unique
from domain.entities.owning import NO_LIMITS
from domain.entities.registry import build_registry


@entity("lands", tenant_owned=False, unique=[unique("name")])
class Land(Struct, rename="camel", kw_only=True):
    name: str


@entity("towns", unique=[unique("name")])
class Town(Struct, rename="camel", kw_only=True):
    """Refers to no other row, and keeps no history."""

    name: str


@entity("streets", unique=[unique("name")])
class Street(Struct, rename="camel", kw_only=True):
    """Refers to a row of its tenant."""

    name: str
    town_id: Annotated[UUID | None, ref("towns", on_delete="clear")] = None


@entity("rivers", unique=[unique("name")])
class River(Struct, rename="camel", kw_only=True):
    """Refers to a row that all tenants share."""

    name: str
    land_id: Annotated[UUID | None, ref("lands", on_delete="clear")] = None


@entity("houses", unique=[unique("name")], history=True)
class House(Struct, rename="camel", kw_only=True):
    """Keeps a history."""

    name: str


REGISTRY = build_registry([Land, Town, Street, River, House])
TOWNS, STREETS, RIVERS, HOUSES, LANDS = (REGISTRY[name] for name in ("towns", "streets", "rivers", "houses", "lands"))


def rows(model: EntityModel) -> dict[str, str]:
    """Statements on the rows of an entity, and not on those that refer to them."""
    references = tuple(field.name for field in model.declared if field.reference is not None)
    statements = {
        "insert a row": single.insert_row(REGISTRY, model, NO_LIMITS, references) if single.is_plain(model) else None,
        "update a row": single.update_row(REGISTRY, model, NO_LIMITS, model.names, references)
        if single.is_plain(model)
        else None,
        "insert rows": bulk.insert_rows(REGISTRY, model, NO_LIMITS),
        "update rows": bulk.update_rows(REGISTRY, model, NO_LIMITS, model.names, is_partial=False),
        "lock current rows": bulk.current_rows(REGISTRY, model, NO_LIMITS, locked=True),
        "set rows aside": unique_swaps.set_aside(REGISTRY, model, unique_swaps.spared_fields(model) or ()),
        "lock rows to delete": removal.lock_rows(REGISTRY, model, NO_LIMITS, is_final=False),
        "delete rows": removal.mark_deleted(REGISTRY, model),
        "lock and delete rows": removal.lock_and_mark(REGISTRY, model, NO_LIMITS),
        "take a deletion back": removal.take_mark_back(REGISTRY, model),
        "purge rows": removal.purge_rows(REGISTRY, model),
        "lock a row to restore": removal.lock_row(REGISTRY, model, NO_LIMITS),
        "restore rows": removal.restore_rows(REGISTRY, model, NO_LIMITS),
        "restore rows that went along": removal.restore_along(REGISTRY, model),
        "stored values": unique_violations.stored_values(REGISTRY, model, model.unique[0]),
        "clashing rows": unique_violations.clashing_rows(REGISTRY, model, model.unique[0]),
    }
    return {name: statement.text for name, statement in statements.items() if statement is not None}


def references(target: EntityModel, model: EntityModel, field: str) -> dict[str, str]:
    """Statements that follow a reference of ``model`` to rows of ``target`` that are deleted or restored."""
    reference = (model, field)
    statements = {
        "find referring": removal.find_referring(REGISTRY, target, reference, is_final=False, locks=True),
        "count referring": removal.count_referring(REGISTRY, model, ((target, field, False),)),
        "take along": removal.take_along(REGISTRY, target, reference, is_final=False),
        "clear references": removal.clear_references(REGISTRY, target, reference, is_final=False),
        "find deleted with": removal.find_deleted_with(REGISTRY, target, reference),
        "dangling references": removal.has_dangling(REGISTRY, model, field),
    }
    return {name: statement.text for name, statement in statements.items()}


def imports(model: EntityModel) -> dict[str, str]:
    statements = {
        "find refused": loading.find_refused(REGISTRY, model),
        "find stale": loading.find_stale(REGISTRY, model),
        "insert incoming": loading.insert_incoming(REGISTRY, model, NO_LIMITS),
        "adopt matching": loading.adopt_matching(REGISTRY, model, NO_LIMITS, "name"),
        "update matching": loading.update_matching(REGISTRY, model, NO_LIMITS, "name"),
        "drop doubles": loading.drop_doubles(model, "name"),
    }
    return {name: statement.text for name, statement in statements.items()}


ANSWERS = {"claim": idempotency.CLAIM, "find": idempotency.FIND, "keep": idempotency.KEEP}

PLACED = citus.placement(REGISTRY)


def classified(text: str) -> str:
    """Which nodes a statement asks.

    ``one``: each use of a distributed table names the same tenant; ``none``: it uses no distributed table; ``many``
    otherwise. ``, shared`` follows where a reference table is read or locked, ``, local`` where a table of the session.
    """
    named = list(_tenants(re.sub(r"\s+", " ", text)))
    kind = "none" if not named else "one" if None not in named and len(set(named)) == 1 else "many"
    shared = any(re.search(rf"\b(?:FROM|JOIN|UPDATE|INTO) {name}\b", text) for name in PLACED.shared)
    return kind + ", shared" * shared + ", local" * ('"tenantry incoming"' in text)


def _tenants(text: str) -> Iterator[str | None]:
    """The parameter that each use of a distributed table is compared with; None for a use without one."""
    tables = "|".join(PLACED.distributed)
    for use in re.finditer(rf"INTO (?:{tables})(?: AS \w+)? \(tenant_id, [^)]*\) (?:SELECT |VALUES \()(\S+)", text):
        found = re.match(r"\$\d+", use[1])
        yield found[0] if found else None
    uses = re.findall(rf"(?:FROM|JOIN|UPDATE) ({tables})\b(?: AS (\w+))?|, ({tables}) AS (\w+)", text)
    names = [alias or table or other for table, alias, _, other in uses]
    for name in dict.fromkeys(names):
        bound = re.findall(rf"(?:\b{name}\.|WHERE )tenant_id = (\$\d+)", text)
        yield from bound
        if len(bound) < names.count(name):
            yield None


OF_ONE_TABLE = {
    "insert a row": "one",
    "update a row": "one",
    "insert rows": "one",
    "update rows": "one",
    "lock current rows": "one",
    "set rows aside": "one",
    "lock rows to delete": "one",
    "delete rows": "one",
    "lock and delete rows": "one",
    "take a deletion back": "one",
    "purge rows": "one",
    "lock a row to restore": "one",
    "restore rows": "one",
    "restore rows that went along": "one",
    "stored values": "one",
    "clashing rows": "one",
}
WITH_SHARED = {"insert a row", "update a row", "insert rows", "update rows"}
WITH_HISTORY = {
    "insert rows",
    "update rows",
    "delete rows",
    "lock and delete rows",
    "purge rows",
    "restore rows",
    "restore rows that went along",
}


@pytest.mark.promise("scale, growth: what a tenant writes is classified by the nodes of a Citus cluster that it asks")
@pytest.mark.parametrize("model", [TOWNS, STREETS], ids=["without references", "with a reference"])
def test_rows_of_a_tenant_are_written_on_one_node(model: EntityModel) -> None:
    assert {name: classified(text) for name, text in rows(model).items()} == OF_ONE_TABLE


def test_rows_that_refer_to_shared_rows_lock_these_on_every_node() -> None:
    assert {name: classified(text) for name, text in rows(RIVERS).items()} == {
        **OF_ONE_TABLE,
        **dict.fromkeys(WITH_SHARED, "one, shared"),
    }


@pytest.mark.promise("scale, growth: what a tenant writes is classified by the nodes of a Citus cluster that it asks")
def test_a_history_entry_gets_its_tenant_from_its_row_and_asks_many_citus_nodes() -> None:
    assert {name: classified(text) for name, text in rows(HOUSES).items()} == {
        **{name: kind for name, kind in OF_ONE_TABLE.items() if name not in ("insert a row", "update a row")},
        **dict.fromkeys(WITH_HISTORY, "many"),
    }


def test_shared_rows_are_on_every_node() -> None:
    assert set(map(classified, rows(LANDS).values())) == {"none, shared"}


def test_references_are_followed_within_a_tenant_but_for_those_to_shared_rows() -> None:
    assert {name: classified(text) for name, text in references(TOWNS, STREETS, "town_id").items()} == {
        "find referring": "one",
        "count referring": "one",
        "take along": "one",
        # the tenant of the rows to change comes from those that were locked
        "clear references": "many",
        "find deleted with": "one",
        "dangling references": "one",
    }
    assert {name: classified(text) for name, text in references(LANDS, RIVERS, "land_id").items()} == {
        "find referring": "many",
        "count referring": "many",
        "take along": "many",
        "clear references": "many",
        "find deleted with": "many",
        "dangling references": "one, shared",
    }


def test_an_import_joins_a_table_of_its_session() -> None:
    found = {name: classified(text) for name, text in imports(TOWNS).items()}
    assert set(found.values()) == {"one, local", "none, local"}
    assert [name for name, kind in found.items() if kind == "none, local"] == ["drop doubles"]


def test_stored_idempotent_responses_are_on_the_coordinator_of_citus() -> None:
    assert {name: classified(text) for name, text in ANSWERS.items()} == dict.fromkeys(ANSWERS, "none")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("UPDATE towns SET name = $1 WHERE towns.tenant_id = $2::UUID", "one"),
        ("UPDATE towns SET name = $1", "many"),
        ("INSERT INTO towns (tenant_id, id) SELECT $1::UUID, $2", "one"),
        ("INSERT INTO towns (tenant_id, id) SELECT w.tenant_id, w.id FROM w", "many"),
        ("WITH w AS (DELETE FROM towns WHERE towns.tenant_id = $1) DELETE FROM streets WHERE streets.id = $2", "many"),
        ("WITH w AS (SELECT FROM towns WHERE towns.tenant_id = $1) SELECT FROM towns WHERE towns.id = $2", "many"),
        ("DELETE FROM towns USING streets AS s WHERE towns.tenant_id = $1 AND s.tenant_id = $2", "many"),
        ("DELETE FROM lands", "none, shared"),
    ],
)
def test_a_statement_is_one_nodes_only_where_each_use_names_the_tenant(text: str, kind: str) -> None:
    assert classified(text.replace("USING streets AS s", "USING x, streets AS s")) == kind


@pytest.mark.parametrize("is_final", [True, False])
def test_a_cte_that_locks_rows_of_a_cascade_joins_nothing(is_final: bool) -> None:
    text = removal.take_along(REGISTRY, TOWNS, (STREETS, "town_id"), is_final=is_final).text
    locking = text[text.index("MATERIALIZED") : text.index("FOR UPDATE")]
    assert "FROM streets" in locking
    assert "unnest" not in locking


def test_a_cte_that_locks_rows_by_a_key_of_a_file_joins_nothing() -> None:
    text = loading.adopt_matching(REGISTRY, TOWNS, NO_LIMITS, "name").text
    spelled = spelled_for_citus(text)
    assert " IN (SELECT" in text
    assert " IN (SELECT" not in spelled
    assert "= ANY (ARRAY(SELECT" in spelled
