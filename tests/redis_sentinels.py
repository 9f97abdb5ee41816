"""A master with a replica, and three sentinels that watch them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.redis_cluster import SYNC_AT_ONCE, ask, follows
from tests.redis_server import RedisServer
from tests.waiting import until

NAME = "main"


@dataclass(frozen=True)
class Sentinels:
    master: RedisServer
    replica: RedisServer
    watchers: list[RedisServer]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{watcher.port}" for watcher in self.watchers)
        return f"redis+sentinel://{hosts}/{NAME}/3"


@asynccontextmanager
async def open_sentinels(folder: Path) -> AsyncIterator[Sentinels]:
    async with AsyncExitStack() as stack:

        def start(name: str, sentinel: str = "") -> RedisServer:
            own = folder / name
            own.mkdir()
            server = RedisServer(own, *(() if sentinel else SYNC_AT_ONCE), sentinel=sentinel)
            server.start()
            stack.callback(server.kill)
            return server

        master, replica = start("master"), start("replica")
        await ask(replica, "REPLICAOF", "127.0.0.1", master.port)
        await follows(replica)
        watched = (
            f"sentinel monitor {NAME} 127.0.0.1 {master.port} 2\n"
            f"sentinel down-after-milliseconds {NAME} 300\nsentinel failover-timeout {NAME} 3000\n"
        )
        watchers = [start(f"sentinel{number}", watched) for number in range(3)]
        for watcher in watchers:
            await until(partial(_knows_all, watcher))
        yield Sentinels(master, replica, watchers)


async def _knows_all(watcher: RedisServer) -> bool:
    facts = await ask(watcher, "SENTINEL", "MASTER", NAME)
    found = facts if isinstance(facts, dict) else dict(zip(facts[::2], facts[1::2], strict=True))
    return (str(found["num-slaves"]), str(found["num-other-sentinels"])) == ("1", "2")
