"""A Redis cluster of servers that a test may stop and kill, and whose slots it may move."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from tests.redis_server import RedisServer
from tests.waiting import HUNG_AFTER, until

SLOTS = 16_384
NODE_TIMEOUT = 500
"""Milliseconds after which the others take a node with a replica for dead; one without is only slow."""
SYNC_AT_ONCE = ("--repl-diskless-sync-delay", "0")


class Cluster:
    """``masters`` share the slots evenly; ``replicas`` follow them in order."""

    def __init__(self, masters: Sequence[RedisServer], replicas: Sequence[RedisServer]) -> None:
        self.masters, self.replicas = masters, replicas

    @property
    def nodes(self) -> list[RedisServer]:
        return [*self.masters, *self.replicas]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    async def flush(self) -> None:
        for node in self.masters:
            await ask(node, "FLUSHALL")

    async def owner(self, key: str) -> int:
        """Place among the masters of the node that holds the key's slot now."""
        slot = await self.slot(key)
        for first, last, (_, port, *_), *_ in await ask(self.masters[0], "CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return [node.port for node in self.nodes].index(port)
        raise AssertionError(f"nobody has the slot {slot}")

    async def slot(self, key: str) -> int:
        slot: int = await ask(self.masters[0], "CLUSTER", "KEYSLOT", key)
        return slot

    async def move(self, key: str, to: int) -> None:
        """Moves the key's slot with all of its keys to another master, as an operator would, under traffic."""
        slot, source = await self.slot(key), self.nodes[await self.owner(key)]
        target = self.masters[to]
        source_id, target_id = await ask(source, "CLUSTER", "MYID"), await ask(target, "CLUSTER", "MYID")
        await ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        await ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        while keys := await ask(source, "CLUSTER", "GETKEYSINSLOT", slot, 100):
            await ask(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5_000, "REPLACE", "KEYS", *keys)
        for node in (target, source, *self.masters):
            await ask(node, "CLUSTER", "SETSLOT", slot, "NODE", target_id)

    async def settled(self) -> None:
        """Returns when every living node knows all slots and all nodes."""
        for node in self.nodes:
            await until(partial(_is_settled, node, len(self.nodes)))


async def ask(node: RedisServer, *command: object) -> Any:
    client: Any  # redis-py leaves execute_command without types
    async with Redis(host="127.0.0.1", port=node.port, decode_responses=True) as client:
        return await client.execute_command(*command)


async def follows(replica: RedisServer) -> None:
    """Returns when the replica has what its master has."""

    async def link() -> Any:
        return (await ask(replica, "ROLE"))[3:4]

    await until(link, ["connected"])


async def _is_settled(node: RedisServer, count: int) -> bool:
    info: dict[str, str] = await ask(node, "CLUSTER INFO")
    return info["cluster_state"] == "ok" and info["cluster_known_nodes"] == str(count)


@asynccontextmanager
async def open_cluster(folder: Path, masters: int = 3, *, replicated: bool = False) -> AsyncIterator[Cluster]:
    """Started in a moment; with ``replicated`` each master has a replica."""
    async with AsyncExitStack() as stack:
        nodes = []
        for number in range(masters * (2 if replicated else 1)):
            own = folder / f"node{number}"
            own.mkdir()
            patience = NODE_TIMEOUT if replicated else int(HUNG_AFTER * 1_000)
            cluster_options = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(patience))
            node = RedisServer(own, *cluster_options, *SYNC_AT_ONCE)
            node.start()
            stack.callback(node.kill)
            nodes.append(node)
        cluster = Cluster(nodes[:masters], nodes[masters:])
        bounds = [SLOTS * number // masters for number in range(masters + 1)]
        for node, first, after in zip(cluster.masters, bounds, bounds[1:], strict=False):
            await ask(node, "CLUSTER", "ADDSLOTSRANGE", first, after - 1)
        for number, node in enumerate(nodes):
            await ask(node, "CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            await ask(nodes[0], "CLUSTER", "MEET", "127.0.0.1", node.port)
        await cluster.settled()
        for node, master in zip(cluster.replicas, cluster.masters, strict=False):
            await ask(node, "CLUSTER", "REPLICATE", await ask(master, "CLUSTER", "MYID"))
        for node in cluster.replicas:
            await follows(node)
        await cluster.settled()
        yield cluster
