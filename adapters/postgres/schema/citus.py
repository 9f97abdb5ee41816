"""Statements that distribute the tables over a Citus cluster, and Citus' requirements for the schema.

Identity stays on the coordinator with the audit trail, because its statements write both.
The nodes are reached as the service's role, so it may log in.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import event
from sqlalchemy.schema import AddConstraint, CreateTable, DropConstraint

from adapters.postgres.schema.links import junction_name
from adapters.postgres.schema.parts import BY_TABLE, making, on_table
from adapters.postgres.schema.row_security import SEES_ON_NODE
from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.schema.search import search_index_name
from adapters.postgres.schema.sql import ASYNCPG_DIALECT, ddl
from domain.entities.declaration import Registry

OWNER = "tenant_id"
"""Distribution column."""

BESIDE = ("row_history", "files", "file_usage")
"""Tables written by entity statements in addition to the rows."""

ON_COORDINATOR = frozenset({"audit_events"})
"""Tables of entities that identity's statements write, so they stay on the coordinator."""

# Other tables without a distribution column are on the coordinator, and in the catalogue for their foreign keys.
DONE = """
SELECT logicalrelid::text AS name FROM pg_dist_partition
WHERE partmethod = 'h' OR (partmethod = 'n' AND repmodel = 't')"""
"""Query for the tables that Citus has distributed or copied."""

SETTING_UP = ("CREATE EXTENSION IF NOT EXISTS citus", "ALTER ROLE tenantry_service LOGIN")
"""Statements before the transaction with ``statements``."""

# Citus changes reference tables, and the tables that refer to them, over one connection per node, so run the changes
# sequentially.
_IN_TURN = "SET LOCAL citus.multi_shard_modify_mode TO 'sequential'"
_WITHOUT_SEARCH = "DROP SCHEMA IF EXISTS tenantry_search CASCADE"
_NO_INDEX = "DROP INDEX IF EXISTS %(index)s"
_REFERENCE = "SELECT create_reference_table('%(fullname)s')"
_DISTRIBUTE = "SELECT create_distributed_table('%(fullname)s', 'tenant_id')"
_COLOCATE = "SELECT create_distributed_table('%(fullname)s', 'tenant_id', colocate_with => '%(first)s')"
# Citus allows no subqueries in policies, so the setting is read for each row.
_POLICIES = (
    "DROP POLICY IF EXISTS searched_rows ON %(fullname)s",
    "DROP POLICY tenant_rows ON %(fullname)s",
    f"CREATE POLICY tenant_rows ON %(fullname)s USING ({SEES_ON_NODE}) WITH CHECK ({SEES_ON_NODE})",
)
# Drop the policies of partitions: they repeat old policies of their table. The creation of partitions adds the new
# ones.
_NO_POLICIES_OF_PARTS = """
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = '%(table)s'::regclass LOOP
        EXECUTE format('DROP POLICY tenant_rows ON %%s', part);
    END LOOP;
END
$$"""


class Placement(Struct, frozen=True):
    """Names of tables by the location of their rows, referenced tables first; ``shared`` is on every node."""

    distributed: tuple[str, ...]
    shared: tuple[str, ...]
    coordinator: tuple[str, ...]


def placement(registry: Registry) -> Placement:
    names = [table.name for table in metadata_for(registry).sorted_tables]
    models = {model.table: model for model in registry.stored if model.table not in ON_COORDINATOR}
    junctions = {junction_name(model, field.name): model for model in models.values() for field in model.links}
    owners = {**models, **junctions}
    distributed = {name for name, model in owners.items() if model.tenant_owned} | set(BESIDE)
    shared = owners.keys() - distributed
    return Placement(
        tuple(name for name in names if name in distributed),
        tuple(name for name in names if name in shared),
        tuple(name for name in names if name not in distributed and name not in shared),
    )


def obstacles(registry: Registry) -> list[str]:
    """Return sentences about objects that Citus would refuse."""
    histories = [model.name for model in registry.stored if not model.tenant_owned and model.declaration.history]
    return [
        *refused(metadata_for(registry), placement(registry)),
        *(
            f"{name} belongs to no tenant and has history=True: its lines have no tenant, and Citus distributes none "
            "without one."
            for name in histories
        ),
        *(
            f"{model.name}: {field.name} refers to members, which stay on the coordinator."
            for model in registry.stored
            for field in model.declared
            if field.reference is not None and field.reference.may_dangle
        ),
        *(
            f"{model.name}: {field.name} has links, which Citus writes before their row."
            for model in registry.stored
            for field in model.links
        ),
        *(
            f"{model.name} has changes=True: the log of changes stays on the coordinator."
            for model in registry.stored
            if model.declaration.changes
        ),
        *(
            f"{model.name} has shared=True: shares refer to memberships, which stay on the coordinator."
            for model in registry.stored
            if model.declaration.shared
        ),
    ]


def refused(metadata: sa.MetaData, placed: Placement) -> list[str]:
    """Return sentences about keys that Citus refuses, because it can enforce a key only within a node."""
    tables = metadata.tables
    return [
        *(sentence for name in placed.distributed for sentence in _of_distributed(tables[name], placed)),
        *(sentence for name in placed.shared for sentence in _of_copied(tables[name], placed.shared, "copied")),
        *(sentence for name in placed.coordinator for sentence in _of_copied(tables[name], placed.coordinator, "kept")),
    ]


def _of_distributed(table: sa.Table, placed: Placement) -> Iterator[str]:
    keys: list[tuple[str, Sequence[Any]]] = [(str(table.primary_key.name), list(table.primary_key.columns))]
    keys += [(str(index.name), list(index.expressions)) for index in table.indexes if index.unique]
    for constraint in table.constraints:
        if isinstance(constraint, sa.UniqueConstraint):
            keys.append((str(constraint.name), list(constraint.columns)))
    for name, columns in keys:
        if columns and not any(getattr(column, "name", None) == OWNER for column in columns):
            yield f"{table.name}: {name} is unique without {OWNER}."
    for key in table.foreign_key_constraints:
        pairs = {(element.parent.name, element.column.name) for element in key.elements}
        together = key.referred_table.name in placed.distributed and (OWNER, OWNER) in pairs
        if not together and key.referred_table.name not in placed.shared:
            yield f"{table.name}: {key.name} refers to {key.referred_table.name} without {OWNER}, or on another node."


def _of_copied(table: sa.Table, allowed: Sequence[str], where: str) -> Iterator[str]:
    for key in table.foreign_key_constraints:
        if key.referred_table.name not in allowed:
            yield f"{table.name} is {where} whole, and {key.name} refers to {key.referred_table.name}, which is not."


def statements(registry: Registry, done: Collection[str] = (), constraints: Collection[str] = ()) -> list[str]:
    """Return SQL for a cluster's coordinator, to run as the tables' owner after the migrations, in one transaction.

    ``done`` are tables that Citus has distributed or copied already, ``constraints`` are the names of all foreign keys.
    """
    placed, metadata = placement(registry), metadata_for(registry)
    distributed = [name for name in placed.distributed if name not in done]
    shared = [name for name in placed.shared if name not in done]
    moved = [metadata.tables[name] for name in (*shared, *distributed)]
    tables = [metadata.tables[name] for name in (*placed.shared, *placed.distributed)]
    keys = [key for table in tables for key in sorted(table.foreign_key_constraints, key=lambda key: str(key.name))]
    keys = [key for key in keys if key.table in moved or (done and key.name not in constraints)]
    searched = [search_index_name(model.table) for model in registry.stored if model.indexed_search]
    first = next((name for name in placed.distributed if name in done), None)
    parted = [BY_TABLE[name] for name in distributed if name in BY_TABLE]
    placing = (
        [_COLOCATE] * len(distributed) if first or not distributed else [_DISTRIBUTE, *[_COLOCATE] * len(distributed)]
    )
    together = {"first": first or next(iter(distributed), "")}
    made: list[sa.ExecutableDDLElement] = [
        *(ddl(text) for text in (_IN_TURN, _WITHOUT_SEARCH)),
        *(ddl(_NO_INDEX, {"index": name}, table=table.name) for name in searched for table in moved[:1]),
        # Drop the foreign keys first: while a table is distributed, the tables that refer to it are not distributed
        # yet.
        *(DropConstraint(key, if_exists=True) for key in keys if key.name in constraints or not done),
        *(ddl(_REFERENCE, table=name) for name in shared),
        *(ddl(text, table=name) for name in distributed for text in _POLICIES),
        *(statement for table in parted for statement in (on_table(_NO_POLICIES_OF_PARTS, table), making(table))),
        *(ddl(text, together, table=name) for text, name in zip(placing, distributed, strict=False)),
        *(AddConstraint(key) for key in keys),
    ]
    return [str(statement.compile(dialect=ASYNCPG_DIALECT)).strip() for statement in made if moved or keys]


def hold_foreign_keys_back(connection: sa.Connection, done: Collection[str]) -> None:
    """Omit foreign keys between new tables and those that are ``done``, until the new tables are distributed as well.

    Citus refuses them.
    """

    def without_foreign_keys(
        conn: sa.Connection,  # noqa: ARG001  # SQLAlchemy passes it by this name
        clauseelement: Any,
        multiparams: Any,
        params: Any,
        execution_options: Any,  # noqa: ARG001  # SQLAlchemy passes it by this name
    ) -> tuple[Any, Any, Any]:
        if isinstance(clauseelement, CreateTable):
            keys = clauseelement.element.foreign_key_constraints
            clauseelement.include_foreign_key_constraints = [key for key in keys if key.referred_table.name not in done]
        elif isinstance(clauseelement, AddConstraint) and isinstance(
            key := clauseelement.element, sa.ForeignKeyConstraint
        ):
            ends = {key.table.name, key.referred_table.name}
            clauseelement = sa.text("SELECT 1") if len(ends.intersection(done)) == 1 else clauseelement
        return clauseelement, multiparams, params

    event.listen(connection, "before_execute", without_foreign_keys, retval=True)
