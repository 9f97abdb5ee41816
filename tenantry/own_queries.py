"""ORM classes and repositories of entities, for a project's endpoints with SQLAlchemy queries."""

from adapters.postgres.own_queries.repositories import EntityRepository, orm_class, repository

__all__ = ["EntityRepository", "orm_class", "repository"]
