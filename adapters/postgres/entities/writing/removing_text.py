"""The statements that delete rows and bring them back: SQL by model, made once and remembered.

Each takes the tenant (of entities that tenants own) and an array of ids first.
"""

from functools import lru_cache

from adapters.postgres.entities.history import recording
from adapters.postgres.entities.reading.json import quoted
from adapters.postgres.entities.reading.row_encoder import whole
from adapters.postgres.entities.writing.writing import from_second, living, owner
from adapters.postgres.schema.sql import DELETED_WITH
from application.ports.entities.history import Action
from domain.entities.declaration import EntityModel, FieldModel

Reference = tuple[EntityModel, FieldModel]
"""A field, and the entity that has it."""

_REMEMBERED = 1024


@lru_cache(_REMEMBERED)
def locking(model: EntityModel, *, is_final: bool) -> str:
    which = "" if is_final else f" AND {living(model, 't')}"
    return f"SELECT t.id, t.version FROM {_table(model)} WHERE {_theirs(model)}{which} ORDER BY t.id FOR UPDATE"


@lru_cache(_REMEMBERED)
def finding(model: EntityModel, reference: Reference, *, is_final: bool, locks: bool) -> str:
    """The rows that refer to these, by tenant: their ids and what they refer to."""
    referring, one = reference
    tenant = "t.tenant_id" if referring.tenant_owned else "NULL::uuid AS tenant_id"
    return f"""SELECT {tenant}, t.id, t.{quoted(one.name)} AS target FROM {_table(referring)}
    WHERE {_referring(model, reference, is_final=is_final)} ORDER BY 1, 2{" FOR UPDATE" if locks else ""}"""


@lru_cache(_REMEMBERED)
def marking(model: EntityModel) -> str:
    """Then come: whose deletion takes each along, when, who."""
    roots, at, by = _after(model, "uuid[]", "timestamptz", "uuid")
    change = f"""UPDATE {_table(model)}
    SET is_deleted = true, deleted_at = {at}, deleted_by = {by}, {DELETED_WITH} = g.root, version = t.version + 1
    FROM unnest({_ids(model)}, {roots}) g (id, root) WHERE {owner(model, "t")} AND t.id = g.id"""
    return _told(model, "deleted", change, (at, by))


@lru_cache(_REMEMBERED)
def clearing(model: EntityModel, reference: Reference, *, is_final: bool) -> str:
    """Then come: when, who. What refers to rows that go for good is cleared in deleted rows as well."""
    referring, one = reference
    at, by = _after(model, "timestamptz", "uuid")
    which = _referring(model, reference, is_final=is_final)
    same = " AND t.tenant_id = b.tenant_id" if referring.tenant_owned else ""
    change = f"""UPDATE {_table(referring)}
    SET {quoted(one.name)} = NULL, version = t.version + 1, updated_at = {at}, updated_by = {by}
    FROM before b WHERE t.id = b.id{same}"""
    before = f"before AS MATERIALIZED (SELECT t.* FROM {_table(referring)} WHERE {which} ORDER BY t.id FOR UPDATE)"
    if not referring.declaration.history:
        return f"WITH {before} {change}"
    recorded = recording(referring, "changed", by, at)
    return f"WITH {before}, written AS ({change} RETURNING t.*), {recorded} SELECT 1"


@lru_cache(_REMEMBERED)
def purging(model: EntityModel) -> str:
    """Then come, for a history: when, who."""
    at, by = _after(model, "timestamptz", "uuid")
    return _told(model, "purged", f"DELETE FROM {_table(model)} WHERE {_theirs(model)}", (at, by))


@lru_cache(_REMEMBERED)
def held(model: EntityModel) -> str:
    """One row, whether deleted or not."""
    return f"SELECT t.id, t.is_deleted FROM {_table(model)} WHERE {_theirs(model)} FOR UPDATE"


@lru_cache(_REMEMBERED)
def taken_along(model: EntityModel, reference: Reference) -> str:
    """The rows that went when these did; then comes the one whose deletion took them."""
    referring = reference[0]
    (root,) = _after(model, "uuid")
    tenant = "t.tenant_id" if referring.tenant_owned else "NULL::uuid AS tenant_id"
    return f"""SELECT {tenant}, t.id FROM {_table(referring)}
    WHERE {_referring(model, reference, is_final=True)} AND t.is_deleted AND t.{DELETED_WITH} = {root}
    ORDER BY 1, 2 FOR UPDATE"""


@lru_cache(_REMEMBERED)
def reviving(model: EntityModel) -> str:
    """Then come: when, who. Answers the rows, shown whole, and their ids and versions."""
    at, by = _after(model, "timestamptz", "uuid")
    told = f", {recording(model, 'restored', by, at)}" if model.declaration.history else ""
    return f"""WITH written AS (
    UPDATE {_table(model)}
    SET is_deleted = false, deleted_at = NULL, deleted_by = NULL, {DELETED_WITH} = NULL,
        updated_at = {at}, updated_by = {by}, version = t.version + 1
    WHERE {_theirs(model)} RETURNING t.*){told}
    SELECT {whole(model).text}, t.id, t.version FROM written t"""


@lru_cache(_REMEMBERED)
def dangling(model: EntityModel, one: FieldModel, target: EntityModel) -> str:
    """Whether one of these refers to nothing that lives; what they do refer to is held until the end."""
    name = quoted(one.name)
    theirs = f"SELECT t.{name} FROM {_table(model)} WHERE {_theirs(model)}"
    tenant = f"{owner(target, 'f')} AND " if target.tenant_owned else ""
    return f"""WITH held AS MATERIALIZED (
    SELECT f.id FROM {quoted(target.table)} f WHERE {tenant}{living(target, "f")} AND f.id IN ({theirs})
    ORDER BY f.id FOR SHARE)
    SELECT EXISTS (SELECT FROM {_table(model)}
        WHERE {_theirs(model)} AND t.{name} IS NOT NULL AND t.{name} NOT IN (SELECT id FROM held))"""


def _told(model: EntityModel, action: Action, change: str, acted: tuple[str, str]) -> str:
    if not model.declaration.history:
        return change
    at, by = acted
    return f"WITH written AS ({change} RETURNING t.*), {recording(model, action, by, at)} SELECT 1"


def _table(model: EntityModel) -> str:
    return f"{quoted(model.table)} t"


def _ids(model: EntityModel) -> str:
    return f"${from_second(model)}::uuid[]"


def _theirs(model: EntityModel) -> str:
    return f"{owner(model, 't')} AND t.id = ANY ({_ids(model)})"


def _after(model: EntityModel, *types: str) -> tuple[str, ...]:
    """The parameters behind the ids."""
    return tuple(f"${from_second(model) + 1 + n}::{kind}" for n, kind in enumerate(types))


def _referring(model: EntityModel, reference: Reference, *, is_final: bool) -> str:
    """When the target goes for good, rows marked deleted count as well: their key would point nowhere."""
    referring, one = reference
    tenant = "t.tenant_id = $1 AND " if model.tenant_owned else ""
    refers = f"{tenant}t.{quoted(one.name)} = ANY ({_ids(model)})"
    return refers if is_final else f"{refers} AND {living(referring, 't')}"
