"""``python -m benchmarks.keys``: a row read with an API key, against the same with a token, in turns on one server."""

import argparse
import asyncio
import os
from collections.abc import Sequence
from statistics import median
from uuid import UUID

import httpx

from benchmarks import rows, wrk
from benchmarks.bench_data import BenchData, Size, User
from benchmarks.databases import database, servers
from benchmarks.operations import MAIN
from benchmarks.people import make_key, make_people, token, tokens
from benchmarks.servers import ADMIN_EMAIL, ADMIN_PASSWORD, Server, service
from benchmarks.turns import Turn, run_turn

GOAL = 0.97
"""Rate by key, as a part of that by token."""

SIZE = Size(rows=20_000, tenants=2)
GET = next(operation for operation in MAIN if operation.name == "get")


async def main(turns: int, seconds: float) -> bool:
    """Prints the ratio; False where it misses the goal."""
    wrk.ensure_wrk()
    read: dict[str, list[Turn]] = {"token": [], "key": []}
    async with (
        servers() as (database_url, redis_url),
        database(database_url, f"tenantry_keys_{os.getpid()}") as data,
    ):
        with service(data.url, redis_url) as server:
            users = make_people(server, SIZE.tenants)
            await rows.fill(data.connection, list(dict.fromkeys(user.tenant_id for user in users)), SIZE)
            sample = await rows.sample(data.connection, users, SIZE)
            bearers = {"token": tokens(server, users), "key": _keys(server, users)}
            for turn in range(turns):
                for way in ("token", "key") if turn % 2 == 0 else ("key", "token"):
                    read[way].append(await _run(server, sample, bearers[way], seconds))
    ratio = median(by_key.rate / by_token.rate for by_key, by_token in zip(read["key"], read["token"], strict=True))
    each = {way: median(turn.each for turn in taken) for way, taken in read.items()}
    print(
        f"{GET.title}: {each['token']:.3f} ms of CPU a request by token, {each['key']:.3f} by key: "
        f"{ratio:.2f} of the rate, goal {GOAL}"
    )
    return ratio >= GOAL


async def _run(server: Server, sample: BenchData, bearers: dict[UUID, str], seconds: float) -> Turn:
    return await run_turn(server, GET, GET.load(sample, bearers), seconds)


def _keys(server: Server, users: Sequence[User]) -> dict[UUID, str]:
    """A key for each user, of a service account in the user's tenant with the same role."""
    with httpx.Client(base_url=server.address, timeout=30.0) as client:
        admin = token(client, ADMIN_EMAIL, ADMIN_PASSWORD)
        return {user.id: make_key(client, admin, user) for user in users}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keys")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3, help="of each measured run")
    asked = parser.parse_args()
    if not asyncio.run(main(asked.turns, asked.seconds)):
        raise SystemExit(1)
