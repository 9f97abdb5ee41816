"""SQLAlchemy sessions and repositories for users' own endpoints.

A session shows the rows of one tenant. The service itself does not use them: it runs its statements on asyncpg.
"""
