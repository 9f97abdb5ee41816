"""Limits of API keys: guesses are bounded before the database is asked, and good keys do not starve.

Rotation of signing keys, as clients of the published keys see it.

Every operation that gives roles or permissions: nobody gives by it what they do not hold.
"""

import random
from collections.abc import AsyncIterator
from typing import get_args
from uuid import UUID

import pytest
import pytest_asyncio
from msgspec import Struct, structs

from domain.identity.domains import JoinRequest
from domain.identity.service_accounts import BASE62, compose_key
from domain.scope import Client, EveryTenant
from tests.http.app import ADMIN, PASSWORD, TestApp, open_test_app
from tests.http.identity.service_accounts.service_accounts import authentication_of, counted
from tests.http.identity.service_accounts.test_service_accounts import ACCOUNTS
from tests.http.served import served_by
from tests.http.two_tenants import CLERK, TwoTenants, email_of


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


async def test_the_process_that_rotates_publishes_the_next_keys_at_once(app: TestApp) -> None:
    async def published() -> set[str]:
        answer = await app.call("GET", "/.well-known/jwks.json")
        return {key["kid"] for key in answer.json()["keys"]}

    before = await published()
    await app.services.signing_keys.rotate()
    assert before < await published()
    assert (await app.call("GET", "/api/auth/me", as_whom="acme")).status_code == 200


GIVER = [*CLERK, "create:invitations", "update:tenant-settings", "create:service-accounts", "update:service-accounts"]
WAYS: dict[tuple[str, str], dict[str, object]] = {
    ("POST", "/api/users"): {"email": email_of("new"), "password": PASSWORD, "fullName": "New", "roles": ["Reader"]},
    ("PUT", "/api/users/{user_id}"): {"roles": ["Reader"]},
    ("POST", "/api/users/{user_id}/roles"): {"roleNames": ["Reader"]},
    ("POST", "/api/tenants/{tenant_id}/users"): {"userId": "{user_id}", "roles": ["Reader"]},
    ("POST", "/api/roles"): {"name": "Made", "permissions": ["read:products"]},
    ("PUT", "/api/roles/{role_id}"): {"name": "Giver", "permissions": ["read:products"]},
    ("POST", "/api/invitations"): {"email": email_of("new"), "roles": ["Reader"]},
    ("POST", "/api/invitations/batch"): {"items": [{"email": email_of("new"), "roles": ["Reader"]}]},
    ("POST", "/api/service-accounts"): {"name": "Robot", "roles": ["Reader"]},
    ("PUT", "/api/service-accounts/{account_id}"): {"roles": ["Reader"]},
    ("POST", "/api/service-accounts/{account_id}/keys"): {"name": "key", "permissions": ["read:products"]},
    ("POST", "/api/tenants/current/domains"): {"domain": "people.example", "mode": "join", "roles": ["Reader"]},
    ("POST", "/api/join-requests/{user_id}/approve"): {"roles": ["Reader"]},
}
"""Every operation that takes roles or permissions, with a body that gives what its caller does not hold."""


def fields_of(annotation: object) -> set[str]:
    """Names of the fields of a body, and of its items."""
    found: set[str] = set()
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, Struct):
            for field in structs.fields(part):
                found |= {field.encode_name, *(fields_of(field.type) if field.name == "items" else ())}
    return found


@pytest.mark.promise(
    "tenants, domains and requests to join: nobody gives by a domain or an approval what they do not hold, nor by any "
    "other operation that takes roles"
)
def test_every_way_of_giving_is_tried(tenants: TwoTenants) -> None:
    served = served_by(tenants.app.services)
    bodies = {
        (each.method, each.path): fields_of(each.handler.parsed_fn_signature.parameters["data"].annotation)
        for each in served
        if each.has_body and each.area == "A"
    }
    giving = {way for way, names in bodies.items() if names & {"roles", "roleNames", "permissions"}}
    assert giving == WAYS.keys()


@pytest.mark.promise(
    "tenants, domains and requests to join: nobody gives by a domain or an approval what they do not hold, nor by any "
    "other operation that takes roles"
)
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
async def test_a_caller_cannot_grant_roles_they_lack_by_any_operation(
    tenants: TwoTenants, way: tuple[str, str]
) -> None:
    await tenants.make_role("Giver", "acme", GIVER)
    await tenants.make_user("giver", "acme", ["Giver"])
    await tenants.log_in("giver", "acme")
    # An account that has the role already is given nothing by it; a key cannot have more than its account.
    held = [] if way[0] == "PUT" else ["Reader"]
    made = await tenants.call("admin", "POST", "/api/service-accounts", {"name": "Machine", "roles": held})
    user_id = UUID(tenants.users["member"])
    if "join-requests" in way[1]:
        user_id = await asking(tenants)
    named = {
        "user_id": str(user_id),
        "tenant_id": tenants.tenants["acme"],
        "role_id": tenants.roles["Giver"],
        "account_id": made.json()["data"]["id"],
    }
    body = {name: value.format(**named) if isinstance(value, str) else value for name, value in WAYS[way].items()}
    answer = await tenants.call("giver", way[0], way[1].format(**named), body)
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "FORBIDDEN"), answer.text
    # Whoever holds it gives it by the same request.
    assert (await tenants.call("admin", way[0], way[1].format(**named), body)).is_success


async def asking(tenants: TwoTenants) -> UUID:
    """Somebody from elsewhere who waits to be let in."""
    user_id, email = UUID(tenants.users["stranger"]), email_of("stranger")
    async with tenants.app.services.database.transaction(EveryTenant()) as tx:
        now = tenants.app.services.clock.now()
        assert await tx.credentials.confirm_email(user_id, email, now)
        request = JoinRequest(
            tenant_id=UUID(tenants.tenants["acme"]), user_id=user_id, domain="acme.example", created_at=now
        )
        assert await tx.join_requests.add(request)
    return user_id
