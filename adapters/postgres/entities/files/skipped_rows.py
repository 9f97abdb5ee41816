"""Rows that an import skipped."""

from functools import lru_cache

import sqlalchemy as sa

from adapters.postgres.entities.files.loading_statements import REMEMBERED, numbered
from adapters.postgres.statements.compiled import CompiledStatement, compiled, parameter
from adapters.postgres.statements.rows import table_of
from adapters.postgres.statements.writing import exists_in, owned_and_living
from domain.entities.declaration import EntityModel, Registry


@lru_cache(maxsize=REMEMBERED)
def find_skipped(registry: Registry, model: EntityModel) -> CompiledStatement:
    """Select ``n`` of the first ``most`` rows that are not stored."""
    (incoming, number, row_id), table = numbered(model), table_of(registry, model)
    stored = exists_in(table, *owned_and_living(model, table), table.c.id == row_id)
    skipped = sa.select(number.label("n")).select_from(incoming).where(~stored)
    return compiled(skipped.order_by(number).limit(parameter("most", sa.Integer())))
