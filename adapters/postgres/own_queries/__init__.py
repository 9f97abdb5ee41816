"""SQLAlchemy sessions and repositories for users' own endpoints.

A session shows the rows of one tenant. The service itself runs its statements on asyncpg.
"""
