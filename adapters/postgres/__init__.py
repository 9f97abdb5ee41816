"""PostgreSQL: schema, migrations, and hand-made statements on asyncpg."""
