"""What Alembic runs: on a connection that migrate.py hands over, inside its transaction."""

from alembic import context

from adapters.postgres.migrations import autogenerate

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes["metadata"],
    include_object=autogenerate.is_ours,
    process_revision_directives=autogenerate.tidy,
    compare_type=True,
    compare_server_default=False,
)
context.run_migrations()
