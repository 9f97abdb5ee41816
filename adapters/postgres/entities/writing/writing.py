"""The statements that write rows of entities: SQL by model and columns, made once and remembered.

Each writes any number of rows, all or none, and takes: the tenant (of entities that tenants own), who, when, the ids,
for changes the versions that were seen, and an array per column. It answers rows that are shown whole, and
behind that their id and version; or null, and behind those ``n`` and the field of the n-th row that is in the way.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from adapters.postgres.entities.history import recording
from adapters.postgres.entities.reading.json import quoted
from adapters.postgres.entities.reading.row_encoder import whole
from adapters.postgres.schema.sql import is_soft, sql_type
from application.ports.entities.history import Action
from domain.entities.declaration import EntityModel, FieldModel, Kind

REMEMBERED = 1024
"""How many statements are kept; an entity has as many as its callers send different columns."""

_PLACE = '"row number"'
"""No field has a blank in its name."""

LISTS = {Kind.UUIDS: "uuid", Kind.TEXTS: "text"}
"""They travel as JSON, for an array of arrays cannot be ragged."""

Targets = tuple[EntityModel, ...]
"""What the references among the columns lead to, in the columns' order."""


def owner(model: EntityModel, alias: str) -> str:
    """The first wall: a statement names the tenant itself."""
    return f"{alias}.tenant_id = $1" if model.tenant_owned else "true"


def living(model: EntityModel, alias: str) -> str:
    return f"NOT {alias}.is_deleted" if is_soft(model) else "true"


def from_second(model: EntityModel) -> int:
    """The number of the first parameter after the tenant, if there is one."""
    return 2 if model.tenant_owned else 1


class _Given:
    """The rows as they were sent: parameters, arrays and the names of what they hold."""

    def __init__(self, model: EntityModel) -> None:
        first = from_second(model)
        self.by, self.at, self.ids = f"${first}::uuid", f"${first + 1}::timestamptz", f"${first + 2}::uuid[]"
        self._next = first + 3
        self._arrays, self._names, self._shown = [self.ids], ["id"], ["id"]

    def take(self, name: str, kind: str, shown: str | None = None) -> None:
        self._arrays.append(f"${self._next}::{kind}[]")
        self._names.append(quoted(name))
        self._shown.append(f"{shown or quoted(name)} AS {quoted(name)}")
        self._next += 1

    def take_field(self, one: FieldModel) -> None:
        if one.kind not in LISTS:
            return self.take(one.name, sql_type(one))
        items = f"ARRAY(SELECT json_array_elements_text({quoted(one.name)}::json))::{LISTS[one.kind]}[]"
        return self.take(one.name, "text", f"CASE WHEN {quoted(one.name)} IS NOT NULL THEN {items} END")

    def __str__(self) -> str:
        rows = f"unnest({', '.join(self._arrays)}) WITH ORDINALITY AS g ({', '.join(self._names)}, {_PLACE})"
        return f"given AS MATERIALIZED (SELECT {_PLACE}, {', '.join(self._shown)} FROM {rows})"


@lru_cache(maxsize=REMEMBERED)
def adding(model: EntityModel, targets: Targets) -> str:
    given = _Given(model)
    for one in model.declared:
        given.take_field(one)
    own = {"tenant_id": "$1"} if model.tenant_owned else {}
    sent = {quoted(one.name): f"given.{quoted(one.name)}" for one in model.declared}
    acted = {"created_at": given.at, "updated_at": given.at, "created_by": given.by, "updated_by": given.by}
    values = {**own, "id": "given.id", **sent, **acted, "version": "1"}
    referring = [one for one in model.declared if one.reference is not None]
    return f"""
WITH {", ".join([str(given), *_held(model, referring, targets), _problems(_missing(referring))])},
written AS (
    INSERT INTO {quoted(model.table)} AS t ({", ".join(values)})
    SELECT {", ".join(values.values())} FROM given WHERE NOT EXISTS (SELECT FROM problems) ORDER BY given.{_PLACE}
    RETURNING t.*){_told(model, "created", given)}
{_answer(model)}"""


@lru_cache(maxsize=REMEMBERED)
def changing(model: EntityModel, columns: tuple[str, ...], targets: Targets, is_partial: bool) -> str:
    """``is_partial``: not every row changes all ``columns``; after each array comes one that says which do.

    The rows are locked first, in one order, so the version that is compared is the newest there is. A row for which
    nothing was sent stays as it is, its version too.
    """
    given = _Given(model)
    given.take("version", "int")
    fields = [model.by_name[name] for name in columns]
    for one in fields:
        given.take_field(one)
        if is_partial:
            given.take(f"has {one.name}", "boolean")
    acted = {"updated_at": given.at, "updated_by": given.by, "version": "t.version + 1"}
    some = " OR ".join(f"given.{quoted('has ' + name)}" for name in columns) if is_partial else "true"
    touched = some if columns else "false"
    acting = [f"{name} = CASE WHEN {touched} THEN {value} ELSE t.{name} END" for name, value in acted.items()]
    referring = [one for one in fields if one.reference is not None]
    problems = _problems([_UNSEEN, *_missing(referring)])
    seen = "t.*" if model.declaration.history else "t.id, t.version"
    before = f"""before AS MATERIALIZED (
    SELECT {seen} FROM {quoted(model.table)} t
    WHERE {owner(model, "t")} AND {living(model, "t")} AND t.id = ANY ({given.ids}) ORDER BY t.id FOR UPDATE)"""
    return f"""
WITH {", ".join([str(given), before, *_held(model, referring, targets), problems])},
written AS (
    UPDATE {quoted(model.table)} t
    SET {", ".join([*(f"{quoted(one.name)} = {_changed(one, is_partial)}" for one in fields), *acting])}
    FROM given WHERE {owner(model, "t")} AND t.id = given.id AND NOT EXISTS (SELECT FROM problems)
    RETURNING t.*){_told(model, "changed", given)}
{_answer(model)}"""


_UNSEEN = f"""
SELECT given.{_PLACE} AS n, CASE WHEN before.id IS NULL THEN 'id' ELSE 'version' END AS wrong
FROM given LEFT JOIN before USING (id) WHERE before.id IS NULL OR given.version <> before.version"""


def _told(model: EntityModel, action: Action, given: _Given) -> str:
    """Its history, where it keeps one, in the same statement."""
    return f", {recording(model, action, given.by, given.at)}" if model.declaration.history else ""


def _changed(one: FieldModel, is_partial: bool) -> str:
    name = quoted(one.name)
    if not is_partial:
        return f"given.{name}"
    return f"CASE WHEN given.{quoted('has ' + one.name)} THEN given.{name} ELSE t.{name} END"


def _held(model: EntityModel, referring: Sequence[FieldModel], targets: Targets) -> Iterator[str]:
    """The living rows that are referred to, kept from being deleted until the transaction ends.

    A rule that asks for other rows takes them for itself: who shared them first would wait for whoever did as well.
    """
    lock = "UPDATE" if model.asks_other_rows else "SHARE"
    for one, target in zip(referring, targets, strict=True):
        yield f"""{quoted("held " + one.name)} AS MATERIALIZED (
    SELECT t.id FROM {quoted(target.table)} t
    WHERE {owner(target, "t")} AND {living(target, "t")} AND t.id IN (SELECT {quoted(one.name)} FROM given)
    ORDER BY t.id FOR {lock})"""


def _missing(referring: Iterable[FieldModel]) -> Iterator[str]:
    for one in referring:
        name, held = quoted(one.name), f"SELECT id FROM {quoted('held ' + one.name)}"
        absent = f"{name} IS NOT NULL AND {name} NOT IN ({held})"
        yield f"SELECT {_PLACE} AS n, '{one.name}' AS wrong FROM given WHERE {absent}"


def _problems(parts: Iterable[str]) -> str:
    found = " UNION ALL ".join(parts) or "SELECT 0::bigint AS n, '' AS wrong WHERE false"
    return f"problems AS MATERIALIZED ({found})"


def _answer(model: EntityModel) -> str:
    shown = whole(model)
    nothing = ", ".join(["NULL"] * (shown.size + 2))
    return f"""SELECT {shown.text}, t.id, t.version, NULL::bigint AS {_PLACE}, NULL AS wrong FROM written t
UNION ALL SELECT {nothing}, n, wrong FROM problems ORDER BY {_PLACE}"""


@lru_cache(maxsize=REMEMBERED)
def current(model: EntityModel, locked: bool) -> str:
    """Living rows with all declared columns, in one order."""
    columns = ", ".join(f"t.{quoted(one.name)}" for one in model.declared)
    return f"""
SELECT t.id, t.version{", " if columns else ""}{columns} FROM {quoted(model.table)} t
WHERE {owner(model, "t")} AND {living(model, "t")} AND t.id = ANY (${from_second(model)}::uuid[])
ORDER BY t.id{" FOR UPDATE" if locked else ""}"""
