"""Changes of a file's rows that return their number, with the links and the history of the rows."""

import sqlalchemy as sa
from sqlalchemy import CTE, func

from adapters.postgres.entities.changes.change_lines import change_lines
from adapters.postgres.entities.history import DataChange, history_lines
from adapters.postgres.entities.recording import is_recorded
from adapters.postgres.entities.writing.link_statements import given_links, stored_links, with_links, written_links
from adapters.postgres.statements.compiled import CompiledStatement, compiled
from application.ports.entities.history import Action
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import Limits


def written_rows(model: EntityModel, change: DataChange) -> CTE:
    # Return whole rows only for records: they may be a million.
    columns = change.table.c if is_recorded(model) else [change.table.c.id]
    return change.returning(*columns).cte("written rows")


def counted(
    registry: Registry,
    model: EntityModel,
    limits: Limits,
    written: CTE,
    given: CTE | None,
    before: CTE | None = None,
) -> CompiledStatement:
    """Return the statement that writes the rows and returns their number.

    ``given`` are their links, None for entities without links; ``before`` are rows before an update.
    """
    action: Action = "created" if before is None else "changed"
    links = [] if given is None else given_links(registry, model, model.links, given, limits)
    linked = [cte for each in links for cte in each.written(replaces=before is not None)]
    count = sa.select(func.count()).select_from(written).add_cte(*linked)
    count = count.add_cte(*change_lines(registry, model, action, written, before, links))
    if not (model.declaration.history and links):
        return compiled(count.add_cte(*history_lines(model, action, written, before)))
    if before is not None:
        before = with_links(before, stored_links(registry, model, before, limits), "rows and links before")
    after = written_links(written, stored_links(registry, model, written, limits), links)
    return compiled(count.add_cte(*history_lines(model, action, with_links(written, after, "rows and links"), before)))
