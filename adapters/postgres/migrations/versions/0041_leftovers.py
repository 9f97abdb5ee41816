"""When what is kept only for a while ended, and indexes that find it by that."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0031"

GONE = """
UPDATE revocation_counts SET ended_at = now() WHERE subject LIKE 'session:%'
OR (subject LIKE 'user:%' OR subject LIKE 'grants:%')
AND NOT EXISTS (SELECT FROM users WHERE users.id = split_part(subject, ':', 2)::uuid)"""


def upgrade() -> None:
    op.add_column("login_attempts", sa.Column("tried_at", sa.DateTime(timezone=True), server_default=sa.func.now()))
    op.alter_column("login_attempts", "tried_at", nullable=False, server_default=None)
    op.add_column("revocation_counts", sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(GONE)
    op.drop_index("ix_kept_answers_at", "kept_answers")
    for table, column, where in (
        ("sessions", "created_at", None),
        ("sessions", "ended_at", "ended_at IS NOT NULL"),
        ("login_attempts", "tried_at", "known_at IS NULL"),
        ("revocation_counts", "ended_at", "ended_at IS NOT NULL"),
        ("outbox", "given_up_at", "given_up_at IS NOT NULL"),
        ("outbox", "number", None),
        ("one_time_tokens", "expires_at", None),
        ("kept_answers", "at", None),
    ):
        _index(f"ix_{table}_{column}", table, column, where)
    _index("ix_login_attempts_tried_at_known", "login_attempts", "tried_at", "known_at IS NOT NULL")


def _index(name: str, table: str, column: str, where: str | None) -> None:
    op.create_index(name, table, [column], unique=False, postgresql_where=sa.text(where) if where else None)
