"""Renames of fields and entities: those of ``--rename``, and those suggested in notes."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import sqlalchemy as sa
from msgspec import Struct, defstruct, structs
from sqlalchemy import Connection, Inspector, MetaData

from adapters.postgres.migrations.operations import IN_FILES, IN_HISTORIES, Rename, Renamed, rename_statement
from adapters.postgres.migrations.pending import MigrationRefused
from adapters.postgres.migrations.row_counts import row_count
from adapters.postgres.schema.copies import is_name_of_copy
from adapters.postgres.schema.links import BETWEEN, junction_name
from adapters.postgres.schema.parts import is_name_of_part
from adapters.postgres.schema.sql import short_name
from domain.entities.attachments.files import purpose_of
from domain.entities.declaration import EntityModel, Registry
from domain.entities.registry import relation_name

_OURS = frozenset({"alembic_version"})
_EXAMPLES = frozenset({"categories", "currencies", "products", "reviews"})
_TARGET = "target_id"
_Rule = Literal["camel", "pascal", "kebab"] | None
_RULES: Sequence[_Rule] = ("pascal", "kebab", None, "camel")
_ALIKE = 0.5
"""Minimum similarity of two names for a suggested rename, from 0 to 1."""


class _Named(Struct, frozen=True):
    """Index or constraint; ``text`` contains its columns and expressions."""

    kind: Renamed
    name: str
    text: str

    def tells_of(self, column: str) -> bool:
        return re.search(rf"\b{re.escape(column)}\b", self.text) is not None


def renames(connection: Connection, registry: Registry, metadata: MetaData, spoken: Sequence[str]) -> list[Rename]:
    """Return operations for ``code=sku``, ``books.code=sku`` and ``books=titles``. Raises MigrationRefused.

    ``metadata`` describes all declared tables, as ``metadata_for`` builds it.
    """
    found: list[Rename] = []
    for spec in spoken:
        made = list(_made(sa.inspect(connection), registry, metadata, spec))
        if not made:
            raise MigrationRefused(
                f"--rename {spec} names no field or entity that goes while the other comes: write it as old=new, or as "
                "books.old=new for a field of one entity."
            )
        for operation in made:
            # Do not rename in histories and files yet: no later operation depends on them, and they may be large.
            if operation.kind not in IN_HISTORIES | IN_FILES:
                statement = rename_statement(operation.kind, operation.table, operation.old, operation.new)
                connection.execute(statement)
        found += made
    return found


def offers(connection: Connection, registry: Registry, metadata: MetaData) -> Iterator[str]:
    """Yield suggestions where a removed field resembles a new one, with the number of affected rows."""
    inspector = sa.inspect(connection)
    tables = set(inspector.get_table_names())
    for model in registry.stored:
        if model.table in tables:
            pairs = _pairs(_gone(inspector, model), _new(inspector, model))
            told = {name for pair in pairs for name in pair}
            pairs += [pair for pair in _of_one_type(inspector, metadata, model) if not told & {*pair}]
            for old, field in pairs:
                rows = row_count(connection, model.table, sa.column(old).is_not(None))
                yield (
                    f"{model.table}.{old} goes and {model.table}.{field} comes: {_stay(rows)} otherwise. If it is the "
                    f"same field, take the file back and add: --rename {model.table}.{old}={field}"
                )
            for old, field in _renamed_links(inspector, metadata, model):
                count = row_count(connection, junction_name(model, old))
                yield (
                    f"The links {model.table}.{old} go and {model.table}.{field} come: {count} of them "
                    f"{'stay' if count != 1 else 'stays'} behind otherwise. If it is the same field, take the file "
                    f"back and add: --rename {model.table}.{old}={field}"
                )
        else:
            for old in _similar_tables(inspector, metadata, model):
                rows = row_count(connection, old)
                # The first migrations create the tables of the example, but a project need not declare them.
                if not rows and old in _EXAMPLES:
                    continue
                yield (
                    f"The table {old} goes and {model.table} comes: {_stay(rows)} otherwise. If it is the same entity, "
                    f"take the file back and add: --rename {old}={model.table}"
                )


def _stay(rows: int) -> str:
    return f"the values of {rows} rows stay behind" if rows != 1 else "the value of 1 row stays behind"


def _made(inspector: Inspector, registry: Registry, metadata: MetaData, spec: str) -> Iterator[Rename]:
    left, _, new = (part.strip() for part in spec.partition("="))
    entity, _, old = left.rpartition(".")
    tables = set(inspector.get_table_names())
    for model in registry.stored:
        if model.table not in tables:
            if (
                not entity
                and new in (model.table, model.plural)
                and old.replace("-", "_") in _undeclared(inspector, metadata)
            ):
                yield from _table(inspector, metadata, old.replace("-", "_"), model)
        elif entity in ("", model.table, model.plural):
            field = _by_either_name(model, new)
            if field in _new(inspector, model) and old in _gone(inspector, model):
                yield from _field(inspector, metadata, model, old, field)
            elif field in _new_links(inspector, model) and old in _gone_links(inspector, metadata, model.table):
                yield from _junction(inspector, junction_name(model, old), junction_name(model, field))
                yield from _in_files(model, old, field)
                yield from _in_histories(model, old, field)


def _field(inspector: Inspector, metadata: MetaData, model: EntityModel, old: str, new: str) -> Iterator[Rename]:
    yield Rename("column", model.table, old, new)
    for copy in _stored(inspector, model.table):
        # Long names end with a checksum; autogenerate creates those again.
        if is_name_of_copy(copy) and copy.partition("$")[0] == old:
            yield Rename("column", model.table, copy, copy.replace(old, new, 1))
    wanted = _names_of(metadata.tables[model.table])
    for thing in _named_things(inspector, model.table):
        # Long names end with a checksum; autogenerate creates those again.
        places = list(re.finditer(rf"(?<=_){re.escape(old)}(?=_|$)", thing.name)) if thing.tells_of(old) else []
        names = [f"{thing.name[: place.start()]}{new}{thing.name[place.end() :]}" for place in places]
        for renamed in ([name for name in names if name in wanted] or names)[:1]:
            yield Rename(thing.kind, model.table, thing.name, renamed)
    yield from _in_files(model, old, new)
    yield from _in_histories(model, old, new)


def _in_files(model: EntityModel, old: str, new: str) -> Iterator[Rename]:
    field = model.by_name[new]
    if field.attachment is None:
        return
    purpose, is_many = purpose_of(model, field), field.link is not None
    for name in _json_names(model, old):
        before = f"{model.plural}.{relation_name(name, is_many=is_many)}"
        if before != purpose:
            yield Rename("purpose", "files", before, purpose)


def _in_histories(model: EntityModel, old: str, new: str) -> Iterator[Rename]:
    if model.declaration.history:
        wire = model.by_name[new].wire
        yield from (Rename("field", model.table, name, wire) for name in _json_names(model, old))


def _json_names(model: EntityModel, column: str) -> list[str]:
    """Yield the possible JSON names of a field, by the naming rules of most remaining fields.

    The likeliest name is last, because a downgrade restores that one first.

    One-word or hand-written names show no rule.
    """
    fields = {field.name: field.wire for field in model.declared}
    followed = {rule: sum(_by_rule(rule, name) == wire for name, wire in fields.items()) for rule in _RULES}
    most = max(followed.values())
    names = dict.fromkeys(_by_rule(rule, column) for rule in _RULES if followed[rule] == most)
    return [name for name in names if name not in fields.values()]


def _by_rule(rule: _Rule, column: str) -> str:
    (field,) = structs.fields(defstruct("Name", [(column, Any)], rename=rule))
    return field.encode_name


def _table(inspector: Inspector, metadata: MetaData, old: str, model: EntityModel) -> Iterator[Rename]:
    things = list(_named_things(inspector, old))
    yield Rename("table", old, old, model.table)
    for thing in things:
        if (renamed := thing.name.replace(f"_{old}", f"_{model.table}", 1)) != thing.name:
            yield Rename(thing.kind, model.table, thing.name, renamed)
    # A long name does not end with the field's name but with a checksum.
    declared = {short_name(f"{old}{BETWEEN}{field.name}"): junction_name(model, field.name) for field in model.links}
    for name in _gone_links(inspector, metadata, old):
        junction = f"{old}{BETWEEN}{name}"
        yield from _junction(inspector, junction, declared.get(junction) or junction_name(model, name))
    if model.attachments:
        yield Rename("holder", "files", old.replace("_", "-"), model.plural)
    yield Rename("history", model.table, old.replace("_", "-"), model.plural)


def _junction(inspector: Inspector, old: str, new: str) -> Iterator[Rename]:
    yield Rename("table", old, old, new)
    parts = (("pk",), ("ix", "target"), ("fk", "source"), ("fk", "target"))
    names = {short_name(kind, old, *end): short_name(kind, new, *end) for kind, *end in parts}
    for thing in _named_things(inspector, old):
        if thing.name in names:
            yield Rename(thing.kind, new, thing.name, names[thing.name])


def _named_things(inspector: Inspector, table: str) -> Iterator[_Named]:
    key = inspector.get_pk_constraint(table)
    if key["name"]:
        yield _Named("index", key["name"], " ".join(key["constrained_columns"]))
    for index in inspector.get_indexes(table):
        columns = [column or "" for column in index["column_names"]]
        yield _Named("index", str(index["name"]), " ".join([*columns, *index.get("expressions", ())]))
    for reference in inspector.get_foreign_keys(table):
        yield _Named("constraint", str(reference["name"]), " ".join(reference["constrained_columns"]))


def _names_of(table: sa.Table) -> set[str]:
    return {str(index.name) for index in table.indexes} | {str(constraint.name) for constraint in table.constraints}


def _by_either_name(model: EntityModel, name: str) -> str:
    field = model.by_wire.get(name.lower())
    return field.name if field is not None else name


def _stored(inspector: Inspector, table: str) -> list[str]:
    return [column["name"] for column in inspector.get_columns(table)]


def _declared(model: EntityModel) -> set[str]:
    return {field.name for field in model.fields} | {"tenant_id", "deleted_with"}


def _gone(inspector: Inspector, model: EntityModel) -> list[str]:
    stored = _stored(inspector, model.table)
    return [name for name in stored if name not in _declared(model) and not is_name_of_copy(name)]


def _new(inspector: Inspector, model: EntityModel) -> list[str]:
    stored = set(_stored(inspector, model.table))
    return [field.name for field in model.columns if field.name not in stored]


def _gone_links(inspector: Inspector, metadata: MetaData, table: str) -> list[str]:
    """Return the names of an entity's fields with an undeclared junction table."""
    prefix = f"{table}{BETWEEN}"
    gone = sorted(set(inspector.get_table_names()) - set(metadata.tables))
    return [name.removeprefix(prefix) for name in gone if name.startswith(prefix)]


def _new_links(inspector: Inspector, model: EntityModel) -> list[str]:
    tables = set(inspector.get_table_names())
    return [field.name for field in model.links if junction_name(model, field.name) not in tables]


def _undeclared(inspector: Inspector, metadata: MetaData) -> list[str]:
    """Return the undeclared tables that an entity may have had."""
    known = set(metadata.tables) | _OURS
    undeclared = sorted(name for name in inspector.get_table_names() if name not in known)
    return [name for name in undeclared if not is_name_of_part(name) and BETWEEN not in name]


def _pairs(gone: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    if len(gone) == len(new) == 1:
        return [(gone[0], new[0])]
    return [(old, field) for field in new for old in gone if _are_alike(old, field)]


def _of_one_type(inspector: Inspector, metadata: MetaData, model: EntityModel) -> Iterator[tuple[str, str]]:
    """Yield pairs of a removed column and a new field of the same type, for fields with dissimilar names."""
    columns = metadata.tables[model.table].columns
    gone = _gone(inspector, model)
    # Columns removed by an earlier file accept null since then.
    going = [column for column in inspector.get_columns(model.table) if not column["nullable"]]
    for column in (column for column in going if column["name"] in gone):
        kind = type(column["type"].as_generic())
        yield from ((column["name"], new) for new in _new(inspector, model) if isinstance(columns[new].type, kind))


def _renamed_links(inspector: Inspector, metadata: MetaData, model: EntityModel) -> Iterator[tuple[str, str]]:
    """Yield pairs of removed and new links to the same table; tables that may be one, renamed, count as the same."""
    tables, gone, new = set(inspector.get_table_names()), dict[str, list[str]](), dict[str, list[str]]()
    for name in _gone_links(inspector, metadata, model.table):
        for key in inspector.get_foreign_keys(junction_name(model, name)):
            if _TARGET in key["constrained_columns"]:
                table = key["referred_table"]
                gone.setdefault(table if table in metadata.tables else "", []).append(name)
    for name in _new_links(inspector, model):
        for reference in metadata.tables[junction_name(model, name)].columns[_TARGET].foreign_keys:
            table = reference.column.table.name
            new.setdefault(table if table in tables else "", []).append(name)
    for table, names in gone.items():
        pairs = _pairs(names, new.get(table, []))
        told = {name for pair in pairs for name in pair}
        yield from pairs
        yield from ((old, field) for old in names for field in new.get(table, []) if not told & {old, field})


def _similar_tables(inspector: Inspector, metadata: MetaData, model: EntityModel) -> Iterator[str]:
    names = {field.name for field in model.columns}
    for table in _undeclared(inspector, metadata):
        stored = set(_stored(inspector, table)) - (_declared(model) - names)
        if names and _share(names, stored) >= _ALIKE:
            yield table


def _share(names: set[str], others: set[str]) -> float:
    return len(names & others) / len(names | others)


def _are_alike(old: str, new: str) -> bool:
    return SequenceMatcher(None, old, new).ratio() > _ALIKE
