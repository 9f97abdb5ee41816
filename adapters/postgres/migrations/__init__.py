"""Migrations: Alembic through advanced-alchemy's commands, and a check of the schema without Alembic."""
