"""The statements about a file's rows: SQL by model, made once and remembered. Pure.

Parameters are the tenant, of entities that tenants own; then who and when, where rows are written.
"""

from collections.abc import Iterator
from functools import lru_cache

from adapters.postgres.entities.history import recording
from adapters.postgres.entities.reading.json import quoted
from adapters.postgres.entities.writing.writing import LISTS, from_second, living, owner
from adapters.postgres.schema.sql import sql_type, without_case
from application.ports.entities.history import Action
from domain.entities.declaration import EntityModel, FieldModel, Kind

REMEMBERED = 256

INCOMING = "tenantry incoming"
"""No entity's table has a blank in its name, nor a field in its."""
_INCOMING = quoted(INCOMING)
_N, _ID, _GIVEN, _REFUSED = "row n", "row id", "row given", "row refused"

LEAVING_OUT = f'DELETE FROM {_INCOMING} WHERE "{_N}" = ANY ($1::int[])'


def incoming(model: EntityModel) -> str:
    """Gone when the transaction is; lists wait in it as JSON."""
    own = [f'"{_N}" int NOT NULL', f'"{_ID}" uuid NOT NULL', f'"{_GIVEN}" text', f'"{_REFUSED}" text']
    fields = [f"{quoted(one.name)} {'text' if one.kind in LISTS else sql_type(one)}" for one in model.declared]
    return f"CREATE TEMPORARY TABLE {_INCOMING} ({', '.join([*own, *fields])}) ON COMMIT DROP"


def columns(model: EntityModel, *, is_upsert: bool) -> list[str]:
    """In the order of the rows that a sheet gives."""
    upserted = [_GIVEN, _REFUSED] if is_upsert else []
    return [_N, _ID, *upserted, *(one.name for one in model.declared)]


@lru_cache(maxsize=REMEMBERED)
def unmakable(model: EntityModel, key: FieldModel) -> str:
    here = f"SELECT FROM {quoted(model.table)} t WHERE {_is_it(model, key)}"
    return (
        f'SELECT g."{_N}" AS n, g."{_REFUSED}" AS refused FROM {_INCOMING} g '
        f'WHERE g."{_REFUSED}" IS NOT NULL AND NOT EXISTS ({here}) ORDER BY 1'
    )


@lru_cache(maxsize=REMEMBERED)
def missing(target: EntityModel, one: FieldModel) -> str:
    """Rows that refer to nothing; what the others refer to is kept from being deleted until the transaction ends."""
    name = quoted(one.name)
    return f"""
WITH held AS MATERIALIZED (
    SELECT t.id FROM {quoted(target.table)} t WHERE {owner(target, "t")} AND {living(target, "t")}
    AND t.id IN (SELECT g.{name} FROM {_INCOMING} g) ORDER BY t.id FOR SHARE)
SELECT g."{_N}" AS n FROM {_INCOMING} g
WHERE g.{name} IS NOT NULL AND NOT EXISTS (SELECT FROM held WHERE held.id = g.{name}) ORDER BY 1"""


@lru_cache(maxsize=REMEMBERED)
def adding(model: EntityModel, key: FieldModel | None = None, *, is_one: bool = False) -> str:
    """In the file's order, so that of two rows with one value the first is stored; the others are skipped.

    After an upsert's changes those are left that found nothing to change.
    """
    first = from_second(model)
    by, at = f"${first}::uuid", f"${first + 1}::timestamptz"
    own = {"tenant_id": "$1::uuid"} if model.tenant_owned else {}
    sent = {quoted(one.name): value(one, "g") for one in model.declared}
    acted = {"created_at": at, "updated_at": at, "created_by": by, "updated_by": by, "version": "1"}
    values = {**own, "id": f'g."{_ID}"', **sent, **acted}
    conditions = list(_narrowed(model, key, is_one=is_one))
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    skipping = " ON CONFLICT DO NOTHING" if model.unique and not is_one else ""
    return _counted(
        model,
        "",
        f"INSERT INTO {quoted(model.table)} AS t ({', '.join(values)}) "
        f'SELECT {", ".join(values.values())} FROM {_INCOMING} g {where}ORDER BY g."{_N}"{skipping}',
        "created",
    )


def _narrowed(model: EntityModel, key: FieldModel | None, *, is_one: bool) -> Iterator[str]:
    if key is not None:
        yield f"NOT EXISTS (SELECT FROM {quoted(model.table)} t WHERE {_is_it(model, key)})"
    if is_one:
        yield f'g."{_N}" = ${from_second(model) + 2}::int'


@lru_cache(maxsize=REMEMBERED)
def locking(model: EntityModel, key: FieldModel) -> str:
    """The rows that are going to change, in one order whatever that of the file."""
    given = f"SELECT {_key(model, key, 'g')} FROM {_INCOMING} g"
    return f"""
SELECT FROM {quoted(model.table)} t WHERE {owner(model, "t")} AND {living(model, "t")}
AND {_key(model, key, "t")} IN ({given}) ORDER BY t.id FOR UPDATE"""


@lru_cache(maxsize=REMEMBERED)
def changes(model: EntityModel, key: FieldModel) -> str:
    """Rows as they are and as they would be; the last two parameters are after which one, and how many."""
    first = from_second(model)
    old = [f"t.{quoted(one.name)} AS {quoted('old ' + one.name)}" for one in model.declared]
    new = [f"{_changed(model, one)} AS {quoted('new ' + one.name)}" for one in model.declared]
    return f"""
SELECT g."{_N}" AS n, {", ".join([*old, *new])} FROM {_INCOMING} g
JOIN {quoted(model.table)} t ON {_is_it(model, key)}
WHERE g."{_N}" > ${first}::int ORDER BY 1 LIMIT ${first + 1}::int"""


@lru_cache(maxsize=REMEMBERED)
def doubles(model: EntityModel, key: FieldModel) -> str:
    """Of rows with one key the first counts."""
    mine, others = _key(model, key, "g"), _key(model, key, "o")
    return f"""
DELETE FROM {_INCOMING} g USING (
    SELECT {others} AS key, min(o."{_N}") AS n FROM {_INCOMING} o GROUP BY 1 HAVING count(*) > 1) f
WHERE f.key = {mine} AND g."{_N}" > f.n"""


@lru_cache(maxsize=REMEMBERED)
def changing(model: EntityModel, key: FieldModel, *, is_one: bool = False) -> str:
    first = from_second(model)
    sets = [f"{quoted(one.name)} = {_changed(model, one)}" for one in model.declared if one is not key]
    acted = [f"updated_by = ${first}::uuid", f"updated_at = ${first + 1}::timestamptz", "version = t.version + 1"]
    one = f' AND g."{_N}" = ${first + 2}::int' if is_one else ""
    there = f"FROM {_INCOMING} g JOIN {quoted(model.table)} t ON {_is_it(model, key)}{one}"
    return _counted(
        model,
        f"before AS MATERIALIZED (SELECT t.* {there}), ",
        f"UPDATE {quoted(model.table)} t SET {', '.join([*sets, *acted])} FROM {_INCOMING} g "
        f"WHERE {_is_it(model, key)}{one}",
        "changed",
    )


def _counted(model: EntityModel, before: str, write: str, action: Action) -> str:
    """How many rows were written; each is a line of its history where the entity keeps one."""
    if not model.declaration.history:
        return f"WITH written AS ({write} RETURNING 1) SELECT count(*) FROM written"
    first = from_second(model)
    recorded = recording(model, action, f"${first}::uuid", f"${first + 1}::timestamptz")
    return f"WITH {before}written AS ({write} RETURNING t.*), {recorded} SELECT count(*) FROM written"


def value(one: FieldModel, alias: str) -> str:
    name = f"{alias}.{quoted(one.name)}"
    if one.kind not in LISTS:
        return name
    items = f"ARRAY(SELECT json_array_elements_text({name}::json))::{LISTS[one.kind]}[]"
    return f"CASE WHEN {name} IS NOT NULL THEN {items} END"


def _changed(model: EntityModel, one: FieldModel) -> str:
    place = model.declared.index(one) + 1
    return f"CASE WHEN substr(g.\"{_GIVEN}\", {place}, 1) = '1' THEN {value(one, 'g')} ELSE t.{quoted(one.name)} END"


def _is_it(model: EntityModel, key: FieldModel) -> str:
    return f"{owner(model, 't')} AND {living(model, 't')} AND {_key(model, key, 't')} = {_key(model, key, 'g')}"


def _key(model: EntityModel, key: FieldModel, alias: str) -> str:
    folds = key.kind is Kind.TEXT and any(one.ignore_case and key.name in one.fields for one in model.unique)
    name = f"{alias}.{quoted(key.name)}"
    return without_case(name) if folds else name
