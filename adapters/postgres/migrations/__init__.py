"""Migrations: Alembic through the commands of advanced-alchemy, and a check of the schema without it."""
