"""Races between two real processes: whoever comes second, the outcome is one of those that the decisions name."""

import asyncio
import base64
import json
import time
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import pytest

from domain.scope import SYSTEM_TENANT_ID
from tests.conftest import NewDatabase
from tests.entrypoints.pair import ADDRESSES, ADMIN, JsonObject, Pair, pair_on
from tests.entrypoints.processes import PASSWORD, Tenantry
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import HUNG_AFTER, until

pytestmark = pytest.mark.end_to_end

SYSTEM = str(SYSTEM_TENANT_ID)
HOME, AWAY = "198.51.100.1", "203.0.113.7"


@pytest.fixture(scope="module")
async def pair(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    async with pair_on(tmp_path_factory.mktemp("races"), await new_database()) as pair:
        yield pair


@pytest.fixture
async def root(pair: Pair) -> str:
    token: str = (await pair.first.log_in())["token"]
    return token


async def refreshed(pair: Pair, number: int, refresh_token: str) -> httpx.Response:
    body = {"refreshToken": refresh_token}
    return await pair.clients[number % 2].call("POST", "/api/auth/refresh", body)


@pytest.mark.promise(
    "identity, refresh tokens and sessions: Fifty at once over two processes: one rotation, one successor"
)
async def test_fifty_refreshes_at_once_rotate_once_and_all_get_the_same_successor(pair: Pair, root: str) -> None:
    email = f"{pair.fresh('refreshing')}@example.com"
    await pair.first.make_user(root, email)
    session = await pair.first.log_in(email)
    answers = await asyncio.gather(*(refreshed(pair, number, session["refreshToken"]) for number in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    (successor,) = {answer.json()["data"]["refreshToken"] for answer in answers}
    row = await pair.database.fetchrow("SELECT counter, ended_at FROM sessions ORDER BY created_at DESC LIMIT 1")
    assert row is not None
    assert (row["counter"], row["ended_at"]) == (2, None)
    assert (
        await asyncio.gather(*(pair.second.knows(answer.json()["data"]["token"]) for answer in answers)) == [True] * 50
    )
    assert (await refreshed(pair, 1, successor)).status_code == 200


async def test_refreshes_into_two_tenants_at_once_each_get_the_tenant_they_asked_for(pair: Pair, root: str) -> None:
    session = await pair.first.log_in()
    name = pair.fresh("asked")
    made = await pair.first.call("POST", "/api/tenants", {"name": name, "identifier": name}, root)
    tenants = (SYSTEM, made.json()["data"]["id"])
    bodies = [{"refreshToken": session["refreshToken"], "tenantId": tenants[number % 2]} for number in range(20)]
    asked = (
        pair.clients[number // 2 % 2].call("POST", "/api/auth/refresh", body) for number, body in enumerate(bodies)
    )
    answers = await asyncio.gather(*asked)
    assert [tenant_of(answer.json()["data"]["token"]) for answer in answers] == [body["tenantId"] for body in bodies]
    (successor,) = {answer.json()["data"]["refreshToken"] for answer in answers}
    assert (await refreshed(pair, 1, successor)).status_code == 200


def tenant_of(token: str) -> str:
    payload = token.split(".")[1]
    tenant: str = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["tenant_id"]
    return tenant


@pytest.mark.promise(
    "identity, refresh tokens and sessions: Within the grace the same successor, later the session ends"
)
async def test_a_spent_token_shown_after_the_grace_ends_the_session_everywhere(pair: Pair) -> None:
    session = await pair.first.log_in()
    successor = (await refreshed(pair, 1, session["refreshToken"])).json()["data"]
    await pair.database.execute("UPDATE sessions SET rotated_at = rotated_at - interval '31 seconds'")
    await is_stolen(pair, session["refreshToken"], successor)


@pytest.mark.promise("identity, refresh tokens and sessions: an older one ends the session")
async def test_a_token_older_than_the_last_spent_one_ends_the_session_everywhere(pair: Pair) -> None:
    session = await pair.first.log_in()
    second = (await refreshed(pair, 0, session["refreshToken"])).json()["data"]
    third = (await refreshed(pair, 1, second["refreshToken"])).json()["data"]
    await is_stolen(pair, session["refreshToken"], third)


async def is_stolen(pair: Pair, shown: str, living: JsonObject) -> None:
    """However many show it at once: the session is dead, and the trail says so."""
    assert await pair.first.knows(living["token"])
    before = await audited(pair, "session.stolen")
    answers = await asyncio.gather(*(refreshed(pair, number, shown) for number in range(6)))
    assert {(answer.status_code, answer.json()["errorCode"]) for answer in answers} == {(401, "TOKEN_INVALID")}
    assert not await pair.first.knows(living["token"])
    assert not await pair.second.knows(living["token"])
    assert (await refreshed(pair, 0, living["refreshToken"])).status_code == 401
    assert await audited(pair, "session.stolen") > before


async def audited(pair: Pair, action: str) -> int:
    return int(await pair.database.fetchval("SELECT count(*) FROM audit_events WHERE action = $1", action))


@pytest.mark.promise("identity, administration: the last super-admin stays, also when two undo each other at once")
@pytest.mark.parametrize("how", ["demote", "disable", "delete"])
async def test_one_super_admin_remains_when_two_revoke_each_other_on_two_processes(
    pair: Pair, root: str, how: str
) -> None:
    """Ever new twins, and the first super-admin out of the way for as long."""
    for _ in range(4):
        emails = [f"{pair.fresh(how)}@example.com" for _ in range(2)]
        ids = [await pair.first.make_user(root, email, ["SuperAdmin"]) for email in emails]
        tokens = [await pair.first.enter((await pair.first.log_in(email))["token"], SYSTEM) for email in emails]
        await pair.database.execute("UPDATE users SET is_active = email = ANY ($1)", emails)
        answers = await asyncio.gather(*(undo(pair, place, how, ids[1 - place], tokens[place]) for place in (0, 1)))
        left = await pair.database.fetchval(LIVING_SUPER_ADMINS, emails)
        await pair.database.execute("UPDATE users SET is_active = true WHERE email = $1", ADMIN)
        assert left == 1, [answer.text for answer in answers]
        first, second = sorted(answer.status_code for answer in answers)
        assert (first, second) in ((200, 401), (200, 403), (200, 404), (200, 409))


@pytest.mark.promise(
    "security, rights: a tenant's last active Admin cannot be removed, deleted, disabled or lose that role, also when "
    "two of them leave at once; super-admins may"
)
@pytest.mark.parametrize("how", ["demote", "disable", "delete", "end"])
@pytest.mark.parametrize("whom", ["each other", "themselves"])
async def test_one_admin_remains_when_two_leave_on_two_processes(pair: Pair, root: str, how: str, whom: str) -> None:
    for _ in range(3):
        name = pair.fresh("acme")
        body = {"name": name, "identifier": name}
        tenant_id = (await pair.first.call("POST", "/api/tenants", body, root)).json()["data"]["id"]
        ids, tokens = [], []
        for place in (0, 1):
            email = f"{pair.fresh(how)}@example.com"
            ids.append(await pair.first.make_user(root, email))
            member = {"userId": ids[place], "roles": ["Admin"]}
            await pair.first.call("POST", f"/api/tenants/{tenant_id}/users", member, root)
            tokens.append((await pair.first.log_in(email))["token"])
        targets = ids[::-1] if whom == "each other" else ids
        answers = await asyncio.gather(
            *(leave(pair, place, how, targets[place], tenant_id, tokens[place]) for place in (0, 1))
        )
        assert await pair.database.fetchval(LIVING_ADMINS, tenant_id) == 1, [answer.text for answer in answers]
        first, second = sorted(answer.status_code for answer in answers)
        assert (first, second) in ((200, 401), (200, 403), (200, 404), (200, 409))


@pytest.mark.parametrize("whose", ["root", "the tenant's own"])
async def test_adding_a_member_waits_for_a_concurrent_deletion_of_the_tenant(pair: Pair, root: str, whose: str) -> None:
    """The deletion is not committed yet when the member is added, and it is committed before the answer."""
    name, email = pair.fresh("going"), f"{pair.fresh('joining')}@example.com"
    made = await pair.first.call("POST", "/api/tenants", {"name": name, "identifier": name}, root)
    path, body = f"/api/tenants/{made.json()['data']['id']}/users", {"userId": await pair.first.make_user(root, email)}
    token = root
    if whose != "root":
        await pair.first.call("POST", path, {**body, "roles": ["Admin"]}, root)
        token = (await pair.first.log_in(email))["token"]
    async with pair.database.transaction():
        await pair.database.execute("UPDATE tenants SET deleted_at = now() WHERE identifier = $1", name)
        adding = asyncio.create_task(pair.second.call("POST", path, {**body, "isDefault": True}, token))
        await until(lambda: waits_or_ended(pair, adding))
    added = await adding
    assert (added.status_code, added.json()["errorCode"]) == (404, "NOT_FOUND"), added.text


async def waits_or_ended(pair: Pair, asked: asyncio.Task[httpx.Response]) -> bool:
    return asked.done() or bool(await pair.database.fetchval(SOMEBODY_WAITS))


LIVING_ADMINS = """
SELECT count(*) FROM users u JOIN membership_roles h ON h.user_id = u.id JOIN roles r ON r.id = h.role_id
WHERE r.name = 'Admin' AND u.is_active AND h.tenant_id = $1"""


async def leave(pair: Pair, place: int, how: str, user_id: str, tenant_id: str, token: str) -> httpx.Response:
    if how == "end":
        return await pair.clients[place].call("DELETE", f"/api/tenants/{tenant_id}/users/{user_id}", token=token)
    return await undo(pair, place, how, user_id, token)


LIVING_SUPER_ADMINS = """
SELECT count(*) FROM users u JOIN user_roles h ON h.user_id = u.id JOIN roles r ON r.id = h.role_id
WHERE r.name = 'SuperAdmin' AND u.is_active AND u.email = ANY ($1)"""


async def undo(pair: Pair, place: int, how: str, user_id: str, token: str) -> httpx.Response:
    client = pair.clients[place]
    if how == "demote":
        return await client.call("POST", f"/api/users/{user_id}/roles", {"roleNames": []}, token)
    if how == "disable":
        return await client.call("PUT", f"/api/users/{user_id}", {"isActive": False}, token)
    return await client.call("DELETE", f"/api/users/{user_id}", token=token)


@pytest.mark.promise(
    "identity, passwords: the attempt is reserved before the hash: of 1,000 guesses at once five are checked"
)
async def test_of_a_thousand_wrong_guesses_at_once_few_are_counted_and_five_checked(pair: Pair, root: str) -> None:
    email = f"{pair.fresh('guessed')}@example.com"
    await pair.first.make_user(root, email)
    before = await audited(pair, "login.failed")
    answers = await asyncio.gather(*(guess(pair, number, email, AWAY) for number in range(1_000)))
    codes = Counter(answer.json()["errorCode"] for answer in answers)
    assert codes.keys() == {"INVALID_CREDENTIALS", "ACCOUNT_LOCKED", "RATE_LIMITED"}
    assert codes["INVALID_CREDENTIALS"] <= 5
    # the limit of the address lets ten of a minute come to the lock; a process that waits for Redis too long counts for
    # itself meanwhile, and a minute may end
    assert 10 <= 1_000 - codes["RATE_LIMITED"] <= 40
    assert await audited(pair, "login.failed") - before == 1_000 - codes["RATE_LIMITED"]
    assert (await pair.second.try_login(email, PASSWORD, AWAY)).status_code in (401, 429)


async def test_of_ten_wrong_guesses_at_once_five_are_checked(pair: Pair, root: str) -> None:
    """As many as the limit of an address allows, so that the lock alone decides."""
    email, address = f"{pair.fresh('guessed')}@example.com", "203.0.113.200"
    await pair.first.make_user(root, email)
    answers = await asyncio.gather(*(guess(pair, number, email, address) for number in range(10)))
    codes = Counter(answer.json()["errorCode"] for answer in answers)
    assert codes == {"INVALID_CREDENTIALS": 5, "ACCOUNT_LOCKED": 5}


async def guess(pair: Pair, number: int, email: str, address: str) -> httpx.Response:
    return await pair.clients[number % 2].try_login(email, f"wrong guess {number}", address)


@pytest.mark.promise("identity, passwords: a stranger elsewhere cannot keep the owner out")
async def test_guesses_from_many_networks_do_not_lock_the_owner_out(pair: Pair, root: str) -> None:
    email = f"{pair.fresh('owner')}@example.com"
    await pair.first.make_user(root, email)
    assert (await pair.first.try_login(email, PASSWORD, HOME)).status_code == 200
    strangers = [f"203.0.113.{number}" for number in range(60)]
    await asyncio.gather(*(guess(pair, number, email, address) for number, address in enumerate(strangers)))
    for client in pair.clients:
        assert (await client.try_login(email, PASSWORD, "192.0.2.77")).json()["errorCode"] == "ACCOUNT_LOCKED"
        assert (await client.try_login(email, PASSWORD, HOME)).status_code == 200


@pytest.mark.promise("identity, passwords: Off the event loop, as many as cores, a bounded queue, 429 past it")
async def test_queued_logins_do_not_block_reads_and_a_full_queue_refuses_at_once(pair: Pair, root: str) -> None:
    emails = [f"{pair.fresh('queue')}@example.com" for _ in range(400)]  # unknown ones cost as much
    logins = asyncio.gather(*(timed_login(pair, email) for email in emails))
    meanwhile = []
    while not logins.done():
        meanwhile.append(await timed_read(pair, root))
    ended = await logins
    refused = [took for status, took, retry in ended if status == 429 and retry]
    checked = [took for status, took, _ in ended if status == 401]
    assert len(refused) + len(checked) == 400
    assert refused
    assert max(refused) < max(checked)
    # a read that waited behind the queue would take as long as the last of the logins
    assert sorted(meanwhile)[len(meanwhile) // 2] < max(checked) / 4, (meanwhile, checked)


async def timed_read(pair: Pair, token: str) -> float:
    """A request of a caller, of the endpoint with the highest limit: there is no such row."""
    began = time.perf_counter()
    answer = await pair.first.call("GET", f"/api/categories/{SYSTEM}", token=token)
    assert answer.status_code == 404, answer.text
    return time.perf_counter() - began


async def timed_login(pair: Pair, email: str) -> tuple[int, float, bool]:
    """By hand: a whole client takes longer for a request than the service takes for a guess."""
    body = json.dumps({"email": email, "password": "a wrong guess", "isPasswordEncrypted": False})
    head = f"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    head += f"\r\nX-Forwarded-For: {next(ADDRESSES)}"
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(pair.first.served.url).port)
    writer.write(f"{head}\r\n\r\n{body}".encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    took = time.perf_counter() - began
    writer.close()
    return int(answer.split()[1]), took, b"\r\nretry-after:" in answer.lower()


@pytest.fixture
async def unlimited(new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    """Another pair, for who asks as often as it can."""
    folder, variables = tmp_path_factory.mktemp("unlimited"), {"RATE_LIMITS": "count"}
    async with pair_on(folder, await new_database(), **variables) as made:
        yield made


@pytest.mark.promise("identity, tokens and keys: Keys rotate with overlap while requests run")
async def test_keys_rotate_while_requests_run_and_none_fails(unlimited: Pair, tenantry: Tenantry) -> None:
    pair = unlimited
    old = await pair.first.log_in()
    rotated = await asyncio.to_thread(tenantry, "keys", "rotate", **pair.variables)
    assert rotated.returncode == 0, rotated.stderr
    # every process has read it within 15 seconds; the rest of the notice is for readers of the JWK Set
    await pair.database.execute(
        "UPDATE signing_keys SET active_from = now() + interval '16 seconds' WHERE active_from > now()"
    )
    session, tokens = await pair.second.log_in(), {kid_of(old["token"]): old["token"]}
    deadline, number = time.monotonic() + HUNG_AFTER, 0
    while len(tokens) < 2:
        assert time.monotonic() < deadline
        number += 1
        answer = await refreshed(pair, number, session["refreshToken"])
        assert answer.status_code == 200, answer.text
        session = answer.json()["data"]
        tokens[kid_of(session["token"])] = session["token"]
        for client in pair.clients if number % 500 == 0 or len(tokens) == 2 else ():
            assert [await client.knows(token) for token in tokens.values()] == [True] * len(tokens)
    successor = await refreshed(pair, 1, old["refreshToken"])
    assert successor.status_code == 200
    assert await pair.first.knows(successor.json()["data"]["token"])


def kid_of(token: str) -> str:
    head = token.partition(".")[0]
    kid: str = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"]
    return kid
