"""Statements that find files with another holder than the row that names them, in the rows of all tenants."""

from functools import lru_cache

import sqlalchemy as sa

from adapters.postgres.entities.attachments.loading import holders
from adapters.postgres.entities.tables import FILES
from adapters.postgres.statements.compiled import CompiledStatement, compiled, constant, parameter
from adapters.postgres.statements.rows import Truth
from adapters.postgres.statements.writing import exists_in
from domain.entities.attachments.files import purpose_of
from domain.entities.declaration import EntityModel, Registry

REMEMBERED = 256

MISCOUNTED = """
SELECT tenant_id FROM (
    SELECT tenant_id, sum(size) AS bytes, count(*) AS files FROM files
    WHERE state NOT IN ('writing', 'abandoned') GROUP BY tenant_id
) f FULL JOIN file_usage u USING (tenant_id)
WHERE coalesce(f.bytes, 0) <> coalesce(u.bytes, 0) OR coalesce(f.files, 0) <> coalesce(u.files, 0)
ORDER BY tenant_id LIMIT $1"""


@lru_cache(REMEMBERED)
def find_misheld(registry: Registry, model: EntityModel, name: str) -> CompiledStatement:
    """Return the files of a field that its rows do not hold, or do not name; ``most`` is their largest number."""
    rows, row_id, file_id = holders(registry, model, name)
    of_file: list[Truth] = [rows.c.tenant_id == FILES.c.tenant_id, file_id == FILES.c.id]
    is_of_field = FILES.c.purpose == constant(purpose_of(model, model.by_name[name]), sa.Text())
    is_held = FILES.c.state == constant("held", sa.Text())
    is_named = exists_in(rows, *of_file, row_id == FILES.c.row_id).correlate(FILES)
    unnamed = sa.select(FILES).where(is_of_field, is_held, ~is_named)
    has_other_holder = sa.or_(
        FILES.c.entity.is_distinct_from(constant(model.plural, sa.Text())), FILES.c.row_id.is_distinct_from(row_id)
    )
    of_others = sa.select(FILES).select_from(rows.join(FILES, sa.and_(*of_file)))
    of_others = of_others.where(sa.or_(~is_held, ~is_of_field, has_other_holder))
    return compiled(sa.union(unnamed, of_others).limit(parameter("most", sa.Integer())))
