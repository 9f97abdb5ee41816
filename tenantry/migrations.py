"""Operations that the migrations of a project call beside Alembic's own."""

from adapters.postgres.migrations.operations import fill_in, index_trigrams, rename, secure_table

__all__ = ["fill_in", "index_trigrams", "rename", "secure_table"]
