"""CTEs that write links together with the rows that have them.

``given`` are rows with their ``id``, a number (``PLACE``), and an array of ids for each field with links; null leaves
the links of a row unchanged.
"""

from collections.abc import Iterable, Iterator, Mapping

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import CTE, FromClause, Select, func
from sqlalchemy.dialects import postgresql

from adapters.postgres.schema.sql import short_name
from adapters.postgres.statements.compiled import constant
from adapters.postgres.statements.links import (
    IDS_OF_LINKS,
    Seen,
    junction_of,
    linked_ids,
    linked_to,
    of_source,
)
from adapters.postgres.statements.owning import visible
from adapters.postgres.statements.rows import TENANT, Truth, Value, rows_of, table_of
from adapters.postgres.statements.writing import (
    exists_in,
    held_rows,
    materialized,
    owned_and_living,
    owner_columns,
    seen_among,
    version_of,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.owning import Limits

PLACE = "row number"


class GivenLinks(Struct, frozen=True):
    """Links of a field as given: ``n`` (the row's number), ``source_id``, ``target_id`` and ``place`` in ``links``.

    ``held`` are the given targets, locked; the writer has ``limits``. ``aside`` are given rows that are live but marked
    as deleted during a swap of unique values.
    """

    registry: Registry
    model: EntityModel
    field: FieldModel
    rows: CTE
    links: CTE
    held: CTE
    limits: Limits
    aside: CTE | None = None

    def wrong(self, before: CTE | None = None) -> Select[tuple[int, str]]:
        """Select a problem for each link to a target that the writer does not see, unless ``before`` has it."""
        junction, links = junction_of(self.registry, self.model, self.field.name), self.links
        same = [junction.c.tenant_id == TENANT] if "tenant_id" in junction.c else []
        ends = junction.c.source_id == links.c.source_id, junction.c.target_id == links.c.target_id
        if before is not None:
            same.append(junction.c.source_id.in_(sa.select(before.c.id)))
        place = sa.cast(links.c.place - constant(1), sa.Text())
        wrong = constant(f"{self.field.name} ", sa.Text()).concat(place)
        found = sa.select(links.c.n, wrong.label("wrong")).select_from(links)
        return found.where(~self._is_seen(links.c.target_id), ~exists_in(junction, *same, *ends).correlate(links))

    def value(self, rows: FromClause) -> Value:
        """Return the links of the row ``rows`` that the writer sees, after this write."""
        links = self.links
        ids = sa.select(links.c.target_id).where(links.c.source_id == rows.c.id, self._is_seen(links.c.target_id))
        return func.array(ids.order_by(links.c.place).correlate(rows).scalar_subquery(), type_=IDS_OF_LINKS)

    def written(self, *conditions: Truth, replaces: bool) -> Iterator[CTE]:
        """Yield the CTEs that delete and insert links, if ``conditions`` hold; new rows have none to replace.

        Links to targets that the writer does not see remain.
        """
        name, junction = self.field.name, junction_of(self.registry, self.model, self.field.name)
        if replaces:
            target = linked_to(self.registry, self.field)
            rows = rows_of(self.registry, target, "lt")
            seen = _seen(self.registry, self.limits)(target, rows)
            is_seen = exists_in(rows, *seen, rows.c.id == junction.c.target_id).correlate(junction)
            given = self.rows.c[name]
            gone = sa.delete(junction).where(
                *of_source(junction, self.rows),
                given.is_not(None),
                junction.c.target_id != sa.all_(given),
                is_seen if self.aside is None else is_seen | junction.c.target_id.in_(sa.select(self.aside.c.id)),
                *conditions,
            )
            yield gone.cte(short_name(f"deleted {name}"))
        columns = ["source_id", "target_id", "place"]
        values = {**owner_columns(self.model), **{column: self.links.c[column] for column in columns}}
        insert = postgresql.insert(junction).from_select(list(values), sa.select(*values.values()).where(*conditions))
        if replaces:
            place = insert.excluded.place
            insert = insert.on_conflict_do_update(
                index_elements=[column.name for column in junction.primary_key],
                set_={"place": place},
                where=junction.c.place != place,
            )
        yield insert.cte(short_name(f"inserted {name}"))

    def _is_seen(self, ids: Value) -> Truth:
        seen = ids.in_(seen_among(self.held))
        return seen if self.aside is None else seen | ids.in_(sa.select(self.aside.c.id))


def given_links(
    registry: Registry,
    model: EntityModel,
    fields: Iterable[FieldModel],
    given: CTE,
    limits: Limits,
    *,
    is_aside: bool = False,
) -> list[GivenLinks]:
    """Return the links of each of the ``fields`` with links in ``given``."""
    found: list[GivenLinks] = []
    for field in fields:
        if field.link is None:
            continue
        sent = func.unnest(given.c[field.name]).table_valued(sa.column("id", sa.Uuid()), with_ordinality="place")
        sent = sent.render_derived(name="u")
        place = sa.cast(sent.c.place, sa.Integer()).label("place")
        source = given.c.id.label("source_id")
        columns = given.c[PLACE].label("n"), source, sent.c.id.label("target_id"), place
        links = materialized(sa.select(*columns).select_from(given, sent), short_name(f"given {field.name}"))
        held = held_rows(registry, model, field, sa.select(links.c.target_id), limits)
        aside = given if is_aside and field.target == model.plural else None
        found.append(GivenLinks(registry, model, field, given, links, held, limits, aside))
    return found


def stored_links(registry: Registry, model: EntityModel, rows: FromClause, limits: Limits) -> Mapping[str, Value]:
    """Return the stored links of ``rows`` by field name, as the statement's snapshot has them."""
    seen = _seen(registry, limits)
    return {field.name: linked_ids(registry, model, field, rows, seen) for field in model.links}


def _seen(registry: Registry, limits: Limits) -> Seen:
    return lambda target, rows: [*owned_and_living(target, rows), *visible(registry, target, rows, limits)]


def fresh_links(
    registry: Registry, model: EntityModel, rows: FromClause, version: Value, limits: Limits
) -> Mapping[str, Value]:
    """Return the links of rows that were at ``version``; null if the snapshot has another version.

    A statement that waits for the lock of a row sees the newest row, but links as of its snapshot.
    """
    if not model.links:
        return {}
    seen = table_of(registry, model).alias("s")
    of_row = owned_and_living(model, seen)
    snapshot = sa.select(version_of(seen)).where(*of_row, seen.c.id == rows.c.id).correlate(rows).scalar_subquery()
    stored = stored_links(registry, model, rows, limits)
    return {name: sa.case((snapshot == version, value)) for name, value in stored.items()}


def written_links(rows: FromClause, unchanged: Mapping[str, Value], given: Iterable[GivenLinks]) -> Mapping[str, Value]:
    """Return the links of the rows after a write that changes the ``given`` ones of some rows."""
    values = dict(unchanged)
    for each in given:
        name, sent = each.field.name, each.rows
        is_given = exists_in(sent, sent.c.id == rows.c.id, sent.c[name].is_not(None)).correlate(rows)
        values[name] = sa.case((is_given, each.value(rows)), else_=unchanged[name])
    return values


def with_links(rows: CTE, links: Mapping[str, Value], name: str) -> CTE:
    """Return the rows with a column for each field with links; the rows themselves for other entities."""
    if not links:
        return rows
    return sa.select(*rows.c, *(value.label(column) for column, value in links.items())).cte(name)
