"""What a caller may do to an account stands in it, and is what the service does and refuses."""

import pytest

from tests.http.app import TestApp

WAYS = (
    ("change", "PUT", "", {"phoneNumber": "+49 30 123456"}),
    ("endSessions", "DELETE", "/sessions", None),
    ("disable", "DELETE", "/factors", None),
    ("disable", "PUT", "", {"email": "another@acme.example"}),
    ("disable", "PUT", "", {"isActive": False}),
    ("remove", "DELETE", "", None),
)


async def people(app: TestApp) -> dict[str, str]:
    """Members of Acme by what sets them apart."""
    acme, other = [
        (await app.call("GET", "/api/tenants/current", as_whom=name)).json()["data"]["id"] for name in ("acme", "other")
    ]
    await app.make_role("acme", "Staff", ["read:users", "update:users", "delete:users"])
    made = {
        name: await app.make_user("acme", f"{name}@acme.example", [role])
        for name, role in (
            ("owner", "Admin"), ("stronger", "Admin"), ("weaker", "Reader"), ("shared", "Reader"), ("staff", "Staff")
        )
    }  # fmt: skip
    await app.call("POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": acme})
    for owner in ("owner", "stronger"):
        of = f"/api/tenants/{acme}/users/{made[owner]}"
        owned = await app.call("PUT", of, as_whom="root", json={"isOwner": True})
        assert owned.status_code == 200, owned.text
    body = {"userId": made["shared"], "roles": ["Admin"]}
    shared = await app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)
    assert shared.status_code == 201, shared.text
    await app.login("staff", "staff@acme.example")
    return made


@pytest.mark.promise("console, journeys: a person's page offers what the service does for this caller alone")
@pytest.mark.parametrize(
    ("caller", "target", "given"),
    [
        ("acme", "weaker", {"change", "disable", "remove", "endSessions"}),
        ("acme", "owner", {"change", "endSessions"}),
        ("acme", "shared", {"remove", "endSessions"}),
        ("root", "owner", {"change", "disable", "remove", "endSessions"}),
        ("staff", "stronger", set()),
        ("reader", "weaker", set()),
    ],
)
async def test_an_account_says_what_the_caller_may_do_to_it(
    app: TestApp, caller: str, target: str, given: set[str]
) -> None:
    user_id = (await people(app))[target]
    path = f"/api/users/{user_id}"
    may = (await app.call("GET", path, as_whom=caller)).json()["data"]["may"]
    assert {name for name, is_given in may.items() if is_given} == given
    for name, method, below, body in WAYS:
        answer = await app.call(method, f"{path}{below}", as_whom=caller, json=body)
        assert (answer.status_code != 403) == (name in given), (name, answer.text)
