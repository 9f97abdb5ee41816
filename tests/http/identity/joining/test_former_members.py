"""Whoever was a member does not come back by the tenant's domain, with whatever account."""

import pytest

from tests.http.app import PASSWORD
from tests.http.identity.joining.invited import Invited
from tests.http.identity.joining.test_domains import DOMAIN, login, proved, somebody


async def end_membership(invited: Invited, how: str) -> None:
    """Ends that of ``ada`` in acme, and the account if it was not ended with it."""
    call, users = invited.tenants.call, invited.tenants.users
    await invited.tenants.log_in("admin", "acme")
    if how == "removed":
        path = f"/api/tenants/{invited.tenants.tenants['acme']}/users/{users['ada']}"
        assert (await call("root", "DELETE", path)).status_code == 200
    elif how == "left":
        assert (await call("ada", "POST", "/api/tenants/current/leave")).status_code == 200
    elif how == "removed by the tenant":
        assert (await call("admin", "DELETE", f"/api/users/{users['ada']}")).status_code == 200
    if how == "deleted by the operator":
        assert (await call("root", "DELETE", f"/api/users/{users['ada']}")).status_code == 200
        return
    await invited.tenants.app.login("ada", f"ada@{DOMAIN}")
    assert (await call("ada", "DELETE", "/api/auth/me")).status_code == 200


HOW = ["removed", "left", "removed by the tenant", "deleted by the operator", "deleted alone"]


@pytest.mark.promise(
    "tenants, domains and requests to join: a new account of the same mailbox does not come back by the domain, "
    "whoever ended the old one"
)
@pytest.mark.parametrize("how", HOW)
async def test_a_new_account_of_a_former_member_does_not_rejoin_by_the_domain(invited: Invited, how: str) -> None:
    """Whoever was removed deletes the account and registers the same address again."""
    await proved(invited)
    email = await somebody(invited)
    await login(invited, email)
    await invited.tenants.app.login("ada", email, invited.tenants.tenants["acme"])
    await end_membership(invited, how)
    again = await somebody(invited, "ada")
    await login(invited, again)
    assert email not in await invited.members()
    assert (await invited.tenants.call("admin", "GET", "/api/join-requests")).json()["data"]["items"] == []
    # Nor by another account that reads the same mailbox.
    alias = await somebody(invited, "ada+two")
    await login(invited, alias)
    assert alias not in await invited.members()
    await login(invited, await somebody(invited, "eve"))
    assert f"eve@{DOMAIN}" in await invited.members()


async def test_a_user_who_left_does_not_rejoin_at_the_next_login(invited: Invited) -> None:
    await proved(invited)
    email = await somebody(invited)
    await login(invited, email)
    await invited.tenants.app.login("ada", email, invited.tenants.tenants["acme"])
    assert (await invited.tenants.call("ada", "POST", "/api/tenants/current/leave")).status_code == 200
    await login(invited, email)
    assert email not in await invited.members()
    # nor by another account that reads the same mailbox, while the first one lives
    alias = await somebody(invited, "ada+two")
    await login(invited, alias)
    assert alias not in await invited.members()


def marks_of(invited: Invited) -> int:
    """Number of mailboxes that acme knows as those of former members."""
    marked = invited.database.committed().former_addresses
    return len([tenant_id for tenant_id, _ in marked if str(tenant_id) == invited.tenants.tenants["acme"]])


@pytest.mark.promise(
    "tenants, domains and requests to join: what is kept for that is no address, and goes when somebody lets the "
    "person in"
)
async def test_an_invitation_lets_a_former_member_in_and_lifts_the_mark(invited: Invited) -> None:
    await proved(invited)
    email = await somebody(invited)
    await login(invited, email)
    await end_membership(invited, "removed")
    assert marks_of(invited) == 1
    _, token = await invited.invited(email)
    joined = await invited.auth("accept", {"token": token, "fullName": "Ada", "password": "a first password"})
    assert joined.status_code == 200, joined.text
    assert email in await invited.members()
    # While the person is a member nothing is kept of the time before.
    assert marks_of(invited) == 0


@pytest.mark.promise(
    "tenants, domains and requests to join: what is kept for that is no address, and goes when somebody lets the "
    "person in"
)
async def test_an_administrator_lifts_the_mark_by_adding_the_person(invited: Invited) -> None:
    await proved(invited)
    email = await somebody(invited)
    await login(invited, email)
    call, members = invited.tenants.call, f"/api/tenants/{invited.tenants.tenants['acme']}/users"
    ada = invited.tenants.users["ada"]
    assert (await call("root", "DELETE", f"{members}/{ada}")).status_code == 200
    assert marks_of(invited) == 1
    added = await call("root", "POST", members, {"userId": ada, "roles": ["Reader"]})
    assert (added.status_code, marks_of(invited)) == (201, 0)
    await invited.tenants.app.login("ada", email)
    await end_membership(invited, "deleted alone")
    assert marks_of(invited) == 1
    new = {"email": email, "fullName": "Ada", "password": PASSWORD, "roles": ["Reader"]}
    assert ((await call("admin", "POST", "/api/users", new)).status_code, marks_of(invited)) == (201, 0)


@pytest.mark.promise(
    "tenants, domains and requests to join: a stranger who registers an address and leaves keeps its owner out of "
    "nothing"
)
async def test_an_unproved_registration_of_an_address_does_not_exclude_its_owner(invited: Invited) -> None:
    """Registered by a stranger who proves nothing, made a member, and deleted again."""
    await proved(invited)
    invited.tenants.users["ada"] = await invited.tenants.app.make_user("acme", f"ada@{DOMAIN}", ["Reader"])
    await invited.tenants.app.login("ada", f"ada@{DOMAIN}")
    assert (await invited.tenants.call("ada", "DELETE", "/api/auth/me")).status_code == 200
    email = await somebody(invited)
    await login(invited, email)
    assert email in await invited.members()
