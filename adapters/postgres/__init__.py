"""PostgreSQL: schema, migrations, and all ports of the database, whose statements run on asyncpg."""
