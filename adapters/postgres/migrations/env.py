"""Alembic's environment, run on the connection and in the transaction of commands.py."""

# advanced-alchemy's env.py calls asyncio.run, which fails inside a running loop, and upgrades outside a transaction.

from alembic import context

from adapters.postgres.migrations import autogenerate
from adapters.postgres.migrations.online.applying import APPLIED

config = context.config
if context.is_offline_mode():
    # Print the statements of the applied migrations.
    context.configure(
        dialect_name="postgresql",
        dialect_opts={"paramstyle": "named"},  # the default one doubles each percent sign
        starting_rev=config.attributes["applied"] or None,
        literal_binds=True,
        transactional_ddl=True,
        target_metadata=config.attributes["metadata"],
    )
    with context.begin_transaction():
        context.run_migrations()
else:
    context.configure(
        connection=config.attributes["connection"],
        target_metadata=config.attributes["metadata"],
        include_object=autogenerate.is_ours,
        process_revision_directives=autogenerate.tidy,
        render_item=autogenerate.render_item,
        compare_type=autogenerate.is_other_type,
        compare_server_default=False,
        on_version_apply=lambda **_step: config.attributes.get(APPLIED, int)(),  # int() does nothing
    )
    context.run_migrations()
