"""Links in what is read: their ids in rows, and filters on them."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy import FromClause, func
from sqlalchemy.dialects.postgresql import ARRAY

from adapters.postgres.entities.reading.conditions import Filter, condition
from adapters.postgres.entities.reading.rows import in_reach
from adapters.postgres.statements.compiled import parameter
from adapters.postgres.statements.links import Seen, linked_ids, links_to
from adapters.postgres.statements.owning import Reach
from adapters.postgres.statements.rows import Truth, Value
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import Operator


def link_values(
    registry: Registry, model: EntityModel, rows: FromClause, names: Sequence[str], reach: Reach
) -> Mapping[str, Value]:
    """Return the values of the fields with links among ``names``: arrays of the ids that the scope sees."""
    seen = _seen(registry, reach)
    return {
        field.name: linked_ids(registry, model, field, rows, seen, reach)
        for field in model.links
        if field.name in names
    }


def filter_condition(registry: Registry, model: EntityModel, rows: FromClause, given: Filter, reach: Reach) -> Truth:
    """Return the SQL condition of a filter on ``rows``."""
    if model.by_name[given.path.field].link is None:
        return condition(model, rows, given)
    return _link_condition(registry, model, rows, given, reach)


def _link_condition(registry: Registry, model: EntityModel, rows: FromClause, given: Filter, reach: Reach) -> Truth:
    """Return the condition of a filter on links: to one of the ids, to all of them, or none at all."""
    field, ids = model.by_name[given.path.field], parameter(given.parameter, ARRAY(sa.Uuid()))
    links, joined, conditions = links_to(registry, model, field, rows, _seen(registry, reach), is_every=reach.is_every)
    found = sa.select().select_from(joined).where(*conditions).correlate(rows)
    if given.operator is Operator.IS_NULL:
        return sa.not_(found.exists()) == parameter(given.parameter, sa.Boolean())
    is_any = found.where(links.c.target_id == sa.any_(ids)).exists()
    if given.operator is Operator.IN:
        return is_any
    wanted = func.unnest(ids).table_valued(sa.column("id", sa.Uuid())).render_derived(name="wanted")
    is_linked = found.where(links.c.target_id == wanted.c.id).correlate(rows, wanted).exists()
    lacks = sa.select().select_from(wanted).where(~is_linked).correlate(rows).exists()
    # The first condition lets the planner begin with the links to the ids.
    return sa.and_(is_any, ~lacks)


def _seen(registry: Registry, reach: Reach) -> Seen:
    return lambda target, rows: in_reach(registry, target, rows, reach)
