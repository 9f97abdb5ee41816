"""Servers that all trials share, and a migrated database that each copies."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from adapters.embedded import start_embedded
from adapters.postgres.migrations.migrate import upgrade
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.registry import build_registry
from tests.databases import create_database, drop_database

DATABASE, REDIS, TEMPLATE = "TENANTRY_TEST_DATABASE_URL", "TENANTRY_TEST_REDIS_URL", "TENANTRY_TEST_TEMPLATE"


@contextmanager
def servers_with_template() -> Iterator[None]:
    """Sets the variables that tests/conftest.py reads; servers are started where none are named."""
    with tempfile.TemporaryDirectory(prefix="tenantry-mutants-") as folder:
        missing = [DATABASE not in os.environ, REDIS not in os.environ]
        embedded = start_embedded(Path(folder), postgres=missing[0], valkey=missing[1], durable=False)
        try:
            os.environ.setdefault(DATABASE, str(embedded.owner_url))
            os.environ.setdefault(REDIS, str(embedded.redis_url))
            template = asyncio.run(_template(os.environ[DATABASE]))
            os.environ[TEMPLATE] = template
            yield
            asyncio.run(drop_database(template))
        finally:
            embedded.stop()


async def _template(server: str) -> str:
    url = await create_database(server, f"tenantry_mutants_{uuid4().hex[:12]}")
    await upgrade(url, build_registry([*ENTITIES, *BUILTIN_ENTITIES]))
    return url
