"""Operations for a project's migrations, in addition to Alembic's own."""

from adapters.postgres.migrations.online.operations import (
    create_foreign_key_online,
    create_index_online,
    set_not_null_online,
)
from adapters.postgres.migrations.online.search_indexes import index_search
from adapters.postgres.migrations.operations import fill_in, index_trigrams, keep_values, rename, secure_table
from adapters.postgres.migrations.switches import ensure_none_deleted

__all__ = [
    "create_foreign_key_online",
    "create_index_online",
    "ensure_none_deleted",
    "fill_in",
    "index_search",
    "index_trigrams",
    "keep_values",
    "rename",
    "secure_table",
    "set_not_null_online",
]
