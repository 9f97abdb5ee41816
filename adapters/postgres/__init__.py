"""PostgreSQL: schema, migrations, and all ports of the database on asyncpg."""
