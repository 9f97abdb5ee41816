"""A key that ends on one process is dead on the other on its next request, whatever becomes of Redis meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import httpx
import pytest

from domain.scope import SYSTEM_TENANT_ID
from tests.conftest import NewDatabase
from tests.entrypoints.pair import JsonObject, Pair, pair_on
from tests.entrypoints.several_processes.test_revocation_everywhere import eventually, flush, is_ready

ACCOUNTS = "/api/service-accounts"


@pytest.fixture(scope="module")
async def pair(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    async with pair_on(tmp_path_factory.mktemp("keys"), await new_database()) as pair:
        yield pair


class Robot:
    """A service account with a key that both processes remember."""

    def __init__(self, pair: Pair, root: str, account: str) -> None:
        self.pair, self.root, self.path = pair, root, f"{ACCOUNTS}/{account}"
        self.key: JsonObject = {}

    async def make_key(self) -> None:
        answer = await self.pair.first.call("POST", f"{self.path}/keys", {"name": "key"}, token=self.root)
        assert answer.status_code == 201, answer.text
        self.key = answer.json()["data"]
        assert await self.lives() == [True, True]

    async def lives(self) -> list[bool]:
        return [await client.knows(self.key["key"]) for client in self.pair.clients]

    async def end(self) -> httpx.Response:
        return await self.pair.first.call("DELETE", f"{self.path}/keys/{self.key['id']}", token=self.root)


@pytest.fixture
async def robot(pair: Pair) -> AsyncIterator[Robot]:
    session = await pair.first.log_in()
    token = session["token"]
    if session["isGlobal"]:
        switched = await pair.first.call(
            "POST", "/api/auth/switch-tenant", {"tenantId": str(SYSTEM_TENANT_ID)}, token=token
        )
        token = switched.json()["data"]["token"]
    body = {"name": pair.fresh("robot"), "roles": ["Admin"]}
    made = await pair.first.call("POST", ACCOUNTS, body, token=token)
    assert made.status_code == 201, made.text
    robot = Robot(pair, token, made.json()["data"]["id"])
    await robot.make_key()
    yield robot
    for client in pair.clients:
        await eventually(partial(is_ready, client))


@pytest.mark.promise(
    "keys, revocation of keys: a key ended among fifty requests on two processes, Redis emptied in between, is dead "
    "for all that come later"
)
async def test_a_key_ended_among_fifty_requests_on_two_processes_is_dead_for_all_that_come_later(robot: Robot) -> None:
    pair = robot.pair

    async def ask(number: int) -> int:
        return (await pair.clients[number % 2].call("GET", "/api/auth/me", token=robot.key["key"])).status_code

    asking = [asyncio.create_task(ask(number)) for number in range(25)]
    ending = asyncio.create_task(robot.end())
    asking += [asyncio.create_task(ask(number)) for number in range(25)]
    assert (await ending).status_code == 200
    # From here on it is dead, and Redis is emptied before the last of the others were answered.
    later = [asyncio.create_task(ask(number)) for number in range(20)]
    await flush(pair)
    assert set(await asyncio.gather(*later)) == {401}
    assert set(await asyncio.gather(*asking)) <= {200, 401}
    assert await robot.lives() == [False, False]


@pytest.mark.promise(
    "keys, revocation of keys: a key is dead on the next request with Redis stopped, emptied and restored"
)
async def test_a_key_is_dead_on_the_next_request_with_redis_stopped_emptied_and_restored(robot: Robot) -> None:
    pair = robot.pair
    assert (await robot.end()).status_code == 200
    assert await robot.lives() == [False, False]
    await robot.make_key()
    await flush(pair)
    assert await robot.lives() == [True, True]
    assert (await robot.end()).status_code == 200
    assert await robot.lives() == [False, False]
    await robot.make_key()
    pair.redis.kill()
    assert await robot.lives() == [True, True]
    assert (await robot.end()).status_code == 200
    assert await robot.lives() == [False, False]
    pair.redis.start()
    assert await robot.lives() == [False, False]


@pytest.mark.promise(
    "keys, revocation of keys: a closed tenant and a disabled or deleted account end their keys at once; a removed "
    "maker ends none"
)
async def test_a_key_follows_the_state_of_its_account_on_both_processes(robot: Robot) -> None:
    pair = robot.pair
    for is_active in (False, True, False):
        answer = await pair.first.call("PUT", robot.path, {"isActive": is_active}, token=robot.root)
        assert answer.status_code == 200, answer.text
        assert await robot.lives() == [is_active, is_active]
