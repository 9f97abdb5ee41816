"""Lines of the audit trail about a member: what they tell, and in which tenants."""

from adapters.memory.mail import MemoryMailer
from tests.http.identity.steps import join
from tests.http.two_tenants import TwoTenants, email_of
from tests.mails import link_in, said_by


async def actions_on_member(tenants: TwoTenants, whom: str = "admin") -> list[str]:
    """Actions of this trail whose target is the member, the oldest first."""
    trail = (await tenants.call(whom, "GET", "/api/audit-events?pageSize=100&sort=id")).json()["data"]["items"]
    return [event["action"] for event in trail if event["targetId"] == tenants.users["member"]]


async def test_a_form_is_in_the_trail_with_what_it_changes(tenants: TwoTenants) -> None:
    path = f"/api/users/{tenants.users['member']}"
    before = await actions_on_member(tenants)
    read = (await tenants.call("admin", "GET", path)).json()["data"]
    for form in ({}, {"fullName": read["fullName"], "roles": read["roles"]}):
        assert (await tenants.call("admin", "PUT", path, form)).status_code == 200
    assert await actions_on_member(tenants) == before
    for form in ({"roles": ["Reader"]}, {"fullName": "Renamed"}, {"fullName": "Again", "roles": []}):
        assert (await tenants.call("admin", "PUT", path, form)).status_code == 200
    told = (await actions_on_member(tenants))[len(before) :]
    assert told == ["user.roles-changed", "user.changed", "user.roles-changed", "user.changed"]


async def test_the_tenants_of_a_member_learn_what_is_done_from_the_system(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    path = f"/api/users/{tenants.users['member']}"
    tried = {whom: len(await actions_on_member(tenants, whom)) for whom in ("admin", "stranger")}
    acts = (("PUT", ""), ("POST", "/unlock"), ("DELETE", "/sessions"), ("DELETE", "/factors"), ("DELETE", ""))
    for method, end in acts:
        form = {"fullName": "Renamed"} if method == "PUT" else None
        assert (await tenants.call("root", method, path + end, form)).is_success
    done = ["user.changed", "user.unlocked", "user.sessions-ended", "factor.reset", "user.deleted"]
    for whom, seen in tried.items():
        assert (await actions_on_member(tenants, whom))[seen:] == done


async def test_the_tenants_of_a_member_learn_of_a_password_by_mail(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    app, mailer = tenants.app, tenants.app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    await app.call("POST", "/api/auth/request-password-reset", json={"email": email_of("member")})
    await app.services.relay.deliver()
    body = {**said_by(link_in(mailer.sent[-1])), "newPassword": "a password of the owner"}
    assert (await app.call("POST", "/api/auth/reset-password", json=body)).status_code == 200
    for whom in ("admin", "stranger"):
        assert (await actions_on_member(tenants, whom))[-1] == "password.reset"
