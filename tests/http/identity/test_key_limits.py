"""Limits of API keys: guesses are bounded before the database is asked, and good keys do not starve."""

import random
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from domain.identity.service_accounts import BASE62, compose_key
from domain.scope import Client
from tests.http.app import ADMIN, TestApp, open_test_app
from tests.http.identity.service_accounts import authentication_of, counted
from tests.http.identity.test_service_accounts import ACCOUNTS


@pytest_asyncio.fixture
async def limited() -> AsyncIterator[TestApp]:
    """An application that counts limits."""
    app = await open_test_app()
    await app.login("root", ADMIN)
    yield app
    await app.client.aclose()


@pytest.mark.promise(
    "keys, guessing: 10,000 mutated keys are never asked for; random ones with a right checksum are bounded before the "
    "database"
)
async def test_guesses_are_bounded_before_the_database_is_asked(limited: TestApp) -> None:
    random_keys = random.Random(7)
    with counted(limited) as database:
        statuses = []
        for _ in range(400):
            text = compose_key("tnt", "".join(random_keys.choices(BASE62, k=32)))
            answer = await limited.client.get("/api/auth/me", headers={"Authorization": f"Bearer {text}"})
            statuses.append(answer.status_code)
    assert set(statuses) == {401, 429}
    assert database.reads == 60


@pytest.mark.promise(
    "keys, guessing: 10,000 mutated keys are never asked for; random ones with a right checksum are bounded before the "
    "database"
)
async def test_a_mutated_key_is_never_asked_for(limited: TestApp) -> None:
    authentication, now = authentication_of(limited), limited.adapters.clock.now()
    chance = random.Random(9)
    key = compose_key("tnt", "".join(chance.choices(BASE62, k=32)))
    client = Client(address="192.0.2.1", network="192.0.2.1")
    with counted(limited) as database:
        for _ in range(10_000):
            place = chance.randrange(len(key))
            mutated = key[:place] + chance.choice(BASE62 + "_-é\0 ") + key[place + 1 :]
            if mutated == key:
                continue
            with pytest.raises(Exception, match="not valid"):
                await authentication.caller(mutated, client, now)
    assert database.reads == 0


@pytest.mark.promise("keys, guessing: Many good keys behind one address do not starve")
async def test_many_good_keys_behind_one_address_do_not_starve(limited: TestApp) -> None:
    for number in range(7):
        answer = await limited.call("POST", ACCOUNTS, as_whom="root", json={"name": f"A{number}", "roles": ["Admin"]})
        account = answer.json()["data"]["id"]
        for name in range(10):
            made = await limited.call(
                "POST", f"{ACCOUNTS}/{account}/keys", as_whom="root", json={"name": f"{number}{name}"}
            )
            assert made.status_code == 201, made.text
            key = made.json()["data"]["key"]
            answer = await limited.client.get("/api/auth/me", headers={"Authorization": f"Bearer {key}"})
            assert answer.status_code == 200, answer.text


@pytest.mark.promise(
    "keys, cost: Limits are the account's own; a remembered caller that is out of date is counted for its account"
)
async def test_a_service_account_has_its_own_share_of_a_limit(limited: TestApp) -> None:
    made = await limited.call("POST", ACCOUNTS, as_whom="root", json={"name": "R", "roles": ["Admin"]})
    path = f"{ACCOUNTS}/{made.json()['data']['id']}/keys"
    keys = [
        (await limited.call("POST", path, as_whom="root", json={"name": name})).json()["data"]["key"] for name in "ab"
    ]
    left = []
    for key in (*keys, keys[0]):
        answer = await limited.client.get("/api/roles", headers={"Authorization": f"Bearer {key}"})
        left.append(int(answer.headers["x-ratelimit-remaining"]))
    assert left == [99, 98, 97]


@pytest.mark.promise(
    "keys, cost: Limits are the account's own; a remembered caller that is out of date is counted for its account"
)
async def test_a_stale_key_is_counted_for_its_account_and_not_for_its_address(limited: TestApp) -> None:
    made = await limited.call("POST", ACCOUNTS, as_whom="root", json={"name": "R", "roles": ["Admin"]})
    account = made.json()["data"]["id"]
    made = await limited.call("POST", f"{ACCOUNTS}/{account}/keys", as_whom="root", json={"name": "k"})
    bearer = {"Authorization": f"Bearer {made.json()['data']['key']}"}
    assert (await limited.client.get("/api/roles", headers=bearer)).headers["x-ratelimit-remaining"] == "99"
    await limited.call("PUT", f"{ACCOUNTS}/{account}", as_whom="root", json={"name": "S"})
    assert (await limited.client.get("/api/roles", headers=bearer)).headers["x-ratelimit-remaining"] == "98"
    refused = await limited.client.get("/api/roles", headers={"Authorization": "Bearer x"})
    assert refused.headers["x-ratelimit-remaining"] == "99"
