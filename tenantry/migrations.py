"""Operations that the migrations of a project call beside Alembic's own."""

from adapters.postgres.migrations.operations import index_trigrams, secure_table

__all__ = ["index_trigrams", "secure_table"]
