"""The followed entities on PostgreSQL."""

from tests.contracts.entities.changes.conftest import followed_url, postgres_followed

__all__ = ["followed_url", "postgres_followed"]
