import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest

from domain.entities.catalogue import ENTITIES
from tests.servers.databases import create_database, drop_database
from tests.twins.database import TwinsDatabase, connect
from tests.twins.everything import DECLARED, LICENSED, OWNED


@pytest.fixture(scope="session")
def twins_database(servers: tuple[str, str]) -> Iterator[TwinsDatabase]:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        url = runner.run(create_database(servers[0], f"tenantry_twins_{uuid4().hex[:12]}"))
        connection = runner.run(connect(url, list(dict.fromkeys((*ENTITIES, *LICENSED, *DECLARED, *OWNED)))))
        yield TwinsDatabase(runner, connection)
        runner.run(connection.close())
        runner.run(drop_database(url))
