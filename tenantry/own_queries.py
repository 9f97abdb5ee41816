"""ORM classes and repositories of entities, for endpoints of a project that ask the database with SQLAlchemy."""

from adapters.postgres.own_queries.repositories import EntityRepository, orm_class, repository

__all__ = ["EntityRepository", "orm_class", "repository"]
