"""What one process revokes is dead on the other on the next request, whatever becomes of Redis meanwhile."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import httpx
import pytest

from adapters.redis.lease import USUAL
from tests.conftest import NewDatabase
from tests.entrypoints.pair import Client, JsonObject, Pair, pair_on
from tests.waiting import HUNG_AFTER

pytestmark = pytest.mark.end_to_end

ANSWERED_WITHIN = USUAL.until_known + 60.0
"""Seconds: the leases that must end, and many times what a busy machine takes for the rest."""


@pytest.fixture(scope="module")
async def pair(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    async with pair_on(tmp_path_factory.mktemp("revoked"), await new_database()) as pair:
        yield pair


@pytest.fixture
async def someone(pair: Pair) -> AsyncIterator[JsonObject]:
    """Somebody's session, whom both processes have just admitted on what Redis says alone."""
    root = (await pair.first.log_in())["token"]
    email = f"{pair.fresh('someone')}@example.com"
    user_id = await pair.first.make_user(root, email)
    session = await pair.first.log_in(email)
    await both_believe_redis(pair, session["token"])
    yield {**session, "root": root, "email": email, "id": user_id}
    for wire in pair.wires:
        wire.mend()
    for client in pair.clients:
        await eventually(partial(is_ready, client))


async def is_ready(client: Client) -> bool:
    return bool((await client.call("GET", "/health/ready")).json()["status"] == "ready")


async def eventually(holds: Callable[[], Awaitable[bool]], within: float = HUNG_AFTER) -> None:
    deadline = time.monotonic() + within
    while not await holds():
        assert time.monotonic() < deadline


async def both_believe_redis(pair: Pair, token: str) -> None:
    """Until the answers need no database: nothing can be said about a copy that nobody believes."""
    for client in pair.clients:
        await eventually(partial(is_ready, client))

        async def asks_no_database(client: Client = client) -> bool:
            before = await reads_of_versions(pair)
            assert await client.knows(token)
            return await reads_of_versions(pair) == before

        await eventually(asks_no_database)


async def reads_of_versions(pair: Pair) -> int:
    """Scans of the versions by subject, as the server has seen them up to now; the lease's look is another index."""
    await pair.database.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    return int(
        await pair.database.fetchval(
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'pk_revocation_counts'"
        )
    )


async def log_out(client: Client, token: str) -> None:
    answer = await client.call("POST", "/api/auth/logout", token=token)
    assert answer.status_code == 200, answer.text


async def dead_everywhere(pair: Pair, session: JsonObject) -> None:
    assert [await client.knows(session["token"]) for client in pair.clients] == [False, False]
    answer = await pair.second.call("POST", "/api/auth/refresh", {"refreshToken": session["refreshToken"]})
    assert answer.status_code == 401


@pytest.mark.promise("identity, revocation: on the next request, on every process")
async def test_a_logout_is_known_to_the_other_process_at_once(pair: Pair, someone: JsonObject) -> None:
    again = await pair.second.log_in(someone["email"])
    await log_out(pair.first, someone["token"])
    await dead_everywhere(pair, someone)
    assert not await pair.first.knows(again["token"])
    assert await pair.second.knows((await pair.first.log_in(someone["email"]))["token"])


@pytest.mark.promise("identity, revocation: in the same instant as a new login")
async def test_a_login_in_the_same_instant_as_a_logout_works(pair: Pair, someone: JsonObject) -> None:
    for _ in range(5):
        token = (await pair.first.log_in(someone["email"]))["token"]
        await log_out(pair.first, token)
        after = (await pair.second.log_in(someone["email"]))["token"]
        assert [await pair.second.knows(token), await pair.second.knows(after)] == [False, True]


@pytest.mark.promise("identity, revocation: After a flush, a restart, with Redis down")
async def test_a_logout_survives_a_flush(pair: Pair, someone: JsonObject) -> None:
    await log_out(pair.first, someone["token"])
    await flush(pair)
    await dead_everywhere(pair, someone)


async def flush(pair: Pair) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", pair.redis.port)
    writer.write(b"FLUSHALL\r\n")
    assert await reader.readline() == b"+OK\r\n"
    writer.close()


@pytest.mark.promise("identity, revocation: After a flush, a restart, with Redis down")
async def test_a_logout_survives_a_restart_of_redis(pair: Pair, someone: JsonObject) -> None:
    await log_out(pair.first, someone["token"])
    pair.redis.kill()
    await dead_everywhere(pair, someone)
    pair.redis.start()
    await dead_everywhere(pair, someone)


@pytest.mark.promise("identity, revocation: After a flush, a restart, with Redis down")
async def test_a_logout_while_redis_is_down_is_known_at_once(pair: Pair, someone: JsonObject) -> None:
    pair.redis.kill()
    await log_out(pair.first, someone["token"])
    await dead_everywhere(pair, someone)
    pair.redis.start()
    await dead_everywhere(pair, someone)


@pytest.mark.promise("identity, revocation: a process cut off from Redis, a Redis that hangs")
async def test_a_logout_by_a_process_cut_off_from_redis_is_known_to_the_others(pair: Pair, someone: JsonObject) -> None:
    """The other one believes Redis all the while, and Redis was never told."""
    pair.wires[0].cut()
    began = time.monotonic()
    await log_out(pair.first, someone["token"])
    assert time.monotonic() - began < ANSWERED_WITHIN
    await dead_everywhere(pair, someone)
    pair.wires[0].mend()
    await dead_everywhere(pair, someone)


@pytest.mark.promise("identity, revocation: a process cut off from Redis, a Redis that hangs")
async def test_a_logout_while_redis_hangs_is_known_when_it_goes_on(pair: Pair, someone: JsonObject) -> None:
    pair.redis.send(signal.SIGSTOP)
    try:
        leaving = asyncio.create_task(log_out(pair.first, someone["token"]))
        await leaving
        await dead_everywhere(pair, someone)
    finally:
        pair.redis.send(signal.SIGCONT)
    await dead_everywhere(pair, someone)
    for client in pair.clients:
        await eventually(partial(is_ready, client))
    await dead_everywhere(pair, someone)


@pytest.mark.promise("identity, revocation: a process killed between the commit and Redis")
async def test_a_process_killed_between_the_commit_and_redis_leaves_no_living_token(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Cut off from Redis it has committed and waits: nobody has been answered, and the others find out themselves."""
    # the loop at the end asks as often as it can
    folder, variables = tmp_path_factory.mktemp("killed"), {"RATE_LIMITS": "count"}
    async with pair_on(folder, await new_database(), **variables) as pair:
        session = await pair.first.log_in()
        await both_believe_redis(pair, session["token"])
        pair.wires[0].cut()
        leaving = asyncio.create_task(pair.first.call("POST", "/api/auth/logout", token=session["token"]))
        while not await pair.database.fetchval("SELECT count(*) FROM sessions WHERE ended_at IS NOT NULL"):
            assert not leaving.done()
        pair.first.served.process.kill()
        with pytest.raises(httpx.TransportError):
            await leaving
        began = time.monotonic()
        while await pair.second.knows(session["token"]):
            assert time.monotonic() - began < ANSWERED_WITHIN


# What else bites on the next request, and how the token is then called.

Revoking = Callable[[Pair, "Bitten"], Awaitable[httpx.Response]]


class Bitten:
    """A member of a tenant with a role of its own, and the admin who changes that."""

    def __init__(self, root: str, admin: str, tenant_id: str, role_id: str, member_id: str, member: JsonObject) -> None:
        self.root, self.admin = root, admin
        self.tenant_id, self.role_id, self.member_id = tenant_id, role_id, member_id
        self.member = member


async def bitten_in(pair: Pair) -> Bitten:
    root = (await pair.first.log_in())["token"]
    identifier = pair.fresh("tenant")
    tenant = await pair.first.make("/api/tenants", {"name": identifier, "identifier": identifier}, root)
    admin = await pair.first.enter(root, tenant["id"])
    role = await pair.first.make("/api/roles", {"name": "Reader", "permissions": ["read:products"]}, admin)
    email = f"{identifier}@example.com"
    member_id = await pair.first.make_user(admin, email, ["Reader"])
    member = await pair.first.log_in(email)
    await both_believe_redis(pair, member["token"])
    return Bitten(root, admin, tenant["id"], role["id"], member_id, member)


async def close_tenant(pair: Pair, bitten: Bitten) -> httpx.Response:
    return await pair.first.call("PUT", f"/api/tenants/{bitten.tenant_id}", {"isActive": False}, bitten.root)


async def change_role(pair: Pair, bitten: Bitten) -> httpx.Response:
    body = {"name": "Reader", "permissions": ["read:categories"]}
    return await pair.first.call("PUT", f"/api/roles/{bitten.role_id}", body, bitten.admin)


async def replace_roles(pair: Pair, bitten: Bitten) -> httpx.Response:
    return await pair.first.call("POST", f"/api/users/{bitten.member_id}/roles", {"roleNames": []}, bitten.admin)


async def end_membership(pair: Pair, bitten: Bitten) -> httpx.Response:
    path = f"/api/tenants/{bitten.tenant_id}/users/{bitten.member_id}"
    return await pair.first.call("DELETE", path, token=bitten.admin)


async def disable(pair: Pair, bitten: Bitten) -> httpx.Response:
    return await pair.first.call("PUT", f"/api/users/{bitten.member_id}", {"isActive": False}, bitten.admin)


async def delete(pair: Pair, bitten: Bitten) -> httpx.Response:
    return await pair.first.call("DELETE", f"/api/users/{bitten.member_id}", token=bitten.admin)


async def end_session(pair: Pair, bitten: Bitten) -> httpx.Response:
    listed = await pair.first.call("GET", "/api/auth/sessions", token=bitten.member["token"])
    (session,) = listed.json()["data"]["items"]
    return await pair.first.call("DELETE", f"/api/auth/sessions/{session['id']}", token=bitten.member["token"])


@pytest.mark.promise("identity, errors: TOKEN_EXPIRED 401")
@pytest.mark.promise("identity, revocation: on the next request, on every process")
@pytest.mark.parametrize(
    ("revoking", "code", "refresh"),
    [
        (close_tenant, "TOKEN_EXPIRED", 403),
        (change_role, "TOKEN_EXPIRED", ["read:categories"]),
        (replace_roles, "TOKEN_EXPIRED", []),
        (end_membership, "TOKEN_EXPIRED", 403),
        (disable, "TOKEN_INVALID", 401),
        (delete, "TOKEN_INVALID", 401),
        (end_session, "TOKEN_INVALID", 401),
    ],
    ids=lambda case: getattr(case, "__name__", None),
)
async def test_a_revocation_is_effective_on_the_next_request_at_another_process(
    pair: Pair, revoking: Revoking, code: str, refresh: int | list[str]
) -> None:
    bitten = await bitten_in(pair)
    answer = await revoking(pair, bitten)
    assert answer.status_code == 200, answer.text
    dead = await pair.second.call("GET", "/api/auth/me", token=bitten.member["token"])
    assert (dead.status_code, dead.json()["errorCode"]) == (401, code)
    assert "Bearer" in dead.headers["WWW-Authenticate"]
    body = {"refreshToken": bitten.member["refreshToken"]}
    renewed = await pair.second.call("POST", "/api/auth/refresh", body)
    if isinstance(refresh, int):
        assert renewed.status_code == refresh, renewed.text
    else:
        assert renewed.json()["data"]["permissions"] == refresh
