"""Every operation that gives roles or permissions: nobody gives by it what they do not hold."""

from typing import get_args
from uuid import UUID

import pytest
from msgspec import Struct, structs

from domain.identity.domains import JoinRequest
from domain.scope import EveryTenant
from tests.http.app import PASSWORD
from tests.http.served import served_by
from tests.http.two_tenants import CLERK, TwoTenants, email_of

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
async def test_nobody_gives_what_they_do_not_hold_by_any_way(tenants: TwoTenants, way: tuple[str, str]) -> None:
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
