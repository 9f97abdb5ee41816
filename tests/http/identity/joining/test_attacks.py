"""Ways into a tenant that others found in other services, each refused here."""

import asyncio
import re
from uuid import UUID

import httpx
import pytest
from msgspec.structs import replace

from domain.scope import EveryTenant
from tests.http.app import ADMIN, Json
from tests.http.identity.joining.invited import ADA, NEW, WRONG_LINK, Invited, told
from tests.http.two_tenants import email_of


@pytest.mark.promise(
    "tenants, invitations: a leaked or forwarded link is redeemed by no other account (better-auth "
    "GHSA-fmh4-wcc4-5jm3, vibe-kanban, growthbook, pulumi-kubernetes)"
)
async def test_another_account_does_not_redeem_a_link(invited: Invited) -> None:
    """Whoever finds a link, or is forwarded a mail."""
    _, token = await invited.invited()
    for whom in ("member", "stranger", "root"):
        assert told(await invited.auth("accept", {"token": token}, whom=whom)) == WRONG_LINK
    assert ADA not in await invited.members()
    assert (await invited.auth("accept", {"token": token, **NEW})).status_code == 200


@pytest.mark.promise(
    "tenants, invitations: a leaked or forwarded link is redeemed by no other account (better-auth "
    "GHSA-fmh4-wcc4-5jm3, vibe-kanban, growthbook, pulumi-kubernetes)"
)
async def test_somebody_elses_invitation_is_not_accepted_by_its_id(invited: Invited) -> None:
    data, _ = await invited.invited()
    await invited.prove(email_of("stranger"))
    assert (await invited.auth(f"{data['id']}/accept", whom="stranger")).status_code == 404
    assert (await invited.tenants.call("stranger", "GET", "/api/auth/invitations")).json()["data"] == []


@pytest.mark.promise("tenants, invitations: an unproved address accepts nothing without the link (superlog)")
async def test_an_unproved_address_accepts_nothing_without_the_link(invited: Invited) -> None:
    """Anybody could have registered the address."""
    await invited.person("squatter", ADA)
    data, _ = await invited.invited()
    assert (await invited.auth(f"{data['id']}/accept", whom="squatter")).status_code == 403
    assert (await invited.tenants.call("squatter", "GET", "/api/auth/invitations")).status_code == 403
    assert ADA not in await invited.members()


@pytest.mark.promise("tenants, invitations: nobody is taken in by an address alone (learn-wings)")
async def test_an_address_with_an_invitation_is_not_made_a_member_without_acceptance(invited: Invited) -> None:
    """An invitation and an account with its address make no membership: somebody accepts, or nothing happens."""
    await invited.person("ada", ADA)
    await invited.prove(ADA)
    await invited.invited()
    await invited.tenants.app.login("ada", ADA)
    assert ADA not in await invited.members()


@pytest.mark.promise(
    "tenants, invitations: no role above the inviter's, by inviting or by sending again (chainloop, ezauth, capgo)"
)
@pytest.mark.parametrize("role", ["Admin", "Clerk", "SuperAdmin"])
async def test_an_inviter_cannot_invite_to_a_stronger_role(invited: Invited, role: str) -> None:
    answer = await invited.invite(ADA, role, whom="host")
    assert told(answer)[:2] == (403, "FORBIDDEN")
    assert await invited.mails() == []


@pytest.mark.promise(
    "tenants, invitations: no role above the inviter's, by inviting or by sending again (chainloop, ezauth, capgo)"
)
async def test_super_admin_is_refused_as_a_role_of_an_invitation(invited: Invited) -> None:
    for whom in ("admin", "root in acme"):
        answer = await invited.invite(ADA, "SuperAdmin", whom=whom)
        assert told(answer)[:2] == (403, "FORBIDDEN"), whom


@pytest.mark.promise(
    "tenants, invitations: no role above the inviter's, by inviting or by sending again (chainloop, ezauth, capgo)"
)
async def test_a_role_of_another_tenant_is_none(invited: Invited) -> None:
    assert told(await invited.invite(ADA, "Foreign")) == (400, "VALIDATION_ERROR", ["roles"])


async def refused(invited: Invited, token: str) -> None:
    assert told(await invited.auth("accept", {"token": token, **NEW})) == WRONG_LINK
    assert ADA not in await invited.members()
    async with invited.database.read_only(EveryTenant()) as read:
        assert await read.users.state_by_email(ADA) is None


async def by_host(invited: Invited) -> str:
    return (await invited.invited(ADA, "Reader", whom="host"))[1]


@pytest.mark.promise(
    "tenants, invitations: an inviter who lost rights, left, was disabled or deleted takes the invitation along"
)
async def test_an_invitation_is_refused_while_its_inviter_is_disabled(invited: Invited) -> None:
    token = await by_host(invited)
    path = f"/api/users/{invited.tenants.users['host']}"
    assert (await invited.tenants.call("admin", "PUT", path, {"isActive": False})).status_code == 200
    await refused(invited, token)
    assert (await invited.tenants.call("admin", "PUT", path, {"isActive": True})).status_code == 200
    assert (await invited.auth("accept", {"token": token, **NEW})).status_code == 200


@pytest.mark.promise(
    "tenants, invitations: an inviter who lost rights, left, was disabled or deleted takes the invitation along"
)
async def test_an_invitation_is_refused_after_its_inviter_left(invited: Invited) -> None:
    token = await by_host(invited)
    path = f"/api/tenants/{invited.tenants.tenants['acme']}/users/{invited.tenants.users['host']}"
    assert (await invited.tenants.call("root", "DELETE", path)).status_code == 200
    await refused(invited, token)


@pytest.mark.promise(
    "tenants, invitations: an inviter who lost rights, left, was disabled or deleted takes the invitation along"
)
async def test_an_invitation_is_refused_after_the_account_of_its_inviter_was_deleted(invited: Invited) -> None:
    token = await by_host(invited)
    path = f"/api/users/{invited.tenants.users['host']}"
    assert (await invited.tenants.call("root", "DELETE", path)).status_code == 200
    await refused(invited, token)


@pytest.mark.promise(
    "tenants, invitations: an inviter who lost rights, left, was disabled or deleted takes the invitation along"
)
@pytest.mark.parametrize("roles", [["Clerk"], ["Reader"], ["Member"]])
async def test_an_invitation_is_refused_when_its_inviter_may_no_longer_invite(
    invited: Invited, roles: list[str]
) -> None:
    token = await by_host(invited)
    path = f"/api/users/{invited.tenants.users['host']}/roles"
    assert (await invited.tenants.call("admin", "POST", path, {"roleNames": roles})).status_code == 200
    await refused(invited, token)


@pytest.mark.promise(
    "tenants, invitations: a role that was widened after the invitation is not given; a deleted one drops out"
)
async def test_a_role_that_was_widened_after_the_invitation_is_not_given(invited: Invited) -> None:
    token = await by_host(invited)
    path = f"/api/roles/{invited.tenants.roles['Reader']}"
    body = {"permissions": ["read:products", "delete:products"]}
    assert (await invited.tenants.call("admin", "PUT", path, body)).status_code == 200
    await refused(invited, token)


@pytest.mark.promise(
    "tenants, invitations: no role above the inviter's, by inviting or by sending again (chainloop, ezauth, capgo)"
)
async def test_sending_again_needs_what_inviting_needs(invited: Invited) -> None:
    """A pending invitation of an administrator is no way to more for whoever may invite."""
    data, token = await invited.invited(ADA, "Admin")
    resent = await invited.tenants.call("host", "POST", f"/api/invitations/{data['id']}/resend")
    assert told(resent)[:2] == (403, "FORBIDDEN")
    assert await invited.mails() == []
    assert (await invited.auth("preview", {"token": token})).status_code == 200


async def test_resending_makes_another_administrator_the_inviter(invited: Invited) -> None:
    data, _ = await invited.invited(ADA, "Reader", whom="host")
    resent = await invited.tenants.call("admin", "POST", f"/api/invitations/{data['id']}/resend")
    assert resent.json()["data"]["invitedBy"] == invited.tenants.users["admin"]
    token = await invited.token()
    path = f"/api/tenants/{invited.tenants.tenants['acme']}/users/{invited.tenants.users['host']}"
    assert (await invited.tenants.call("root", "DELETE", path)).status_code == 200
    assert (await invited.auth("accept", {"token": token, **NEW})).status_code == 200


@pytest.mark.promise(
    "tenants, invitations: a role that was widened after the invitation is not given; a deleted one drops out"
)
async def test_a_role_that_was_deleted_drops_out(invited: Invited) -> None:
    data, token = await invited.invited(ADA, "Reader", "Member")
    assert (
        await invited.tenants.call("admin", "DELETE", f"/api/roles/{invited.tenants.roles['Reader']}")
    ).status_code == 200
    assert (await invited.auth("accept", {"token": token, **NEW})).status_code == 200
    assert await invited.roles_of(ADA) == ["Member"]
    assert data["roles"] == ["Member", "Reader"]


@pytest.mark.promise(
    "tenants, invitations: no answer and no line of the audit trail holds a secret (openclaw-mission-control)"
)
async def test_no_answer_has_a_secret_in_it(invited: Invited) -> None:
    data, token = await invited.invited()
    answers = [
        await invited.tenants.call("admin", "GET", "/api/invitations"),
        await invited.tenants.call("admin", "POST", f"/api/invitations/{data['id']}/resend"),
        await invited.auth("preview", {"token": token}),
        await invited.tenants.call("admin", "GET", "/api/audit-events?pageSize=100"),
    ]
    secrets = {token, await invited.token()}
    (stored,) = invited.database.committed().invitations.values()
    for answer in answers:
        assert not any(secret in answer.text for secret in (*secrets, stored.hash))


@pytest.mark.promise("tenants, invitations: the preview says nothing without the secret, and is limited")
@pytest.mark.parametrize("token", ["", "x", "x" * 5_000, "null"])
async def test_an_invalid_invitation_secret_opens_nothing(invited: Invited, token: str) -> None:
    await invited.invited()
    for path in ("preview", "accept", "decline"):
        body = {"token": token, **(NEW if path == "accept" else {})}
        assert told(await invited.auth(path, body)) == WRONG_LINK


@pytest.mark.promise(
    "tenants, invitations: an address that is null, none, or several is refused; every spelling of one is one, and "
    "what only folds to it is another (Auth.js GHSA-7rqj-j65f-68wh)"
)
@pytest.mark.parametrize("email", [None, "", "x", "a@b.c,d@e.f", "stra\u00dfe\ufb01@example.com", "a@b@c"])
async def test_no_address_gets_no_invitation(invited: Invited, email: str | None) -> None:
    answer = await invited.tenants.call("admin", "POST", "/api/invitations", {"email": email})
    assert told(answer) == (400, "VALIDATION_ERROR", ["email"])


@pytest.mark.promise(
    "tenants, invitations: an address that is null, none, or several is refused; every spelling of one is one, and "
    "what only folds to it is another (Auth.js GHSA-7rqj-j65f-68wh)"
)
@pytest.mark.parametrize("email", ["ADA@example.com", " ada@EXAMPLE.com", "ada@ｅxample.com"])
async def test_an_address_is_the_same_in_every_spelling(invited: Invited, email: str) -> None:
    await invited.invited(email)
    assert told(await invited.invite(ADA)) == (409, "CONFLICT", ["email"])


@pytest.mark.promise(
    "tenants, invitations: an address that is null, none, or several is refused; every spelling of one is one, and "
    "what only folds to it is another (Auth.js GHSA-7rqj-j65f-68wh)"
)
async def test_an_address_that_only_folds_to_the_invited_one_joins_nothing(invited: Invited) -> None:
    await invited.person("other-ada", "ad\u00e4@example.com")
    _, token = await invited.invited()
    assert told(await invited.auth("accept", {"token": token}, whom="other-ada")) == WRONG_LINK


@pytest.mark.promise(
    "tenants, invitations: a tenant that is closed takes nobody in until it opens again, a deleted one never"
)
async def test_an_inactive_tenant_accepts_no_members_until_it_is_active_again(invited: Invited) -> None:
    _, token = await invited.invited()
    await invited.person("bob", "bob@example.com")
    data, bobs = await invited.invited("bob@example.com")
    await invited.prove("bob@example.com")
    path = f"/api/tenants/{invited.tenants.tenants['acme']}"
    assert (await invited.tenants.call("root", "PUT", path, {"isActive": False})).status_code == 200
    await refused(invited, token)
    assert told(await invited.auth("preview", {"token": token})) == WRONG_LINK
    assert told(await invited.auth("accept", {"token": bobs}, whom="bob")) == WRONG_LINK
    assert (await invited.auth(f"{data['id']}/accept", whom="bob")).status_code == 404
    assert (await invited.tenants.call("root", "PUT", path, {"isActive": True})).status_code == 200
    assert (await invited.auth("accept", {"token": token, **NEW})).status_code == 200


@pytest.mark.promise(
    "tenants, invitations: a tenant that is closed takes nobody in until it opens again, a deleted one never"
)
async def test_a_deleted_tenant_accepts_no_members_and_sends_no_mail(invited: Invited) -> None:
    _, token = await invited.invited()
    assert (await invited.invite("later@example.com")).status_code == 201
    path = f"/api/tenants/{invited.tenants.tenants['acme']}"
    assert (await invited.tenants.call("root", "DELETE", path)).status_code == 200
    assert await invited.mails() == []
    for answer in ("preview", "accept"):
        body = {"token": token, **(NEW if answer == "accept" else {})}
        assert told(await invited.auth(answer, body)) == WRONG_LINK


@pytest.mark.promise("tenants, invitations: of revoking and accepting at once, one happens")
async def test_a_revoked_invitation_is_worth_nothing_also_when_its_mail_still_waits(invited: Invited) -> None:
    data = (await invited.invite()).json()["data"]
    assert (await invited.tenants.call("admin", "DELETE", f"/api/invitations/{data['id']}")).status_code == 200
    assert await invited.mails() == []


@pytest.mark.promise("tenants, invitations: Twenty acceptances at once make one membership")
async def test_twenty_acceptances_at_once_make_one_membership(invited: Invited) -> None:
    await invited.person("ada", ADA)
    _, token = await invited.invited(ADA, "Reader")
    answers = await asyncio.gather(*(invited.auth("accept", {"token": token}, whom="ada") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert (await invited.members()).count(ADA) == 1
    assert invited.actions().count("invitation.accepted") == 1


@pytest.mark.promise("tenants, invitations: Twenty acceptances at once make one membership")
async def test_twenty_new_accounts_at_once_make_one(invited: Invited) -> None:
    _, token = await invited.invited()
    answers = await asyncio.gather(*(invited.auth("accept", {"token": token, **NEW}) for _ in range(20)))
    assert sum(answer.status_code == 200 for answer in answers) == 1
    assert {answer.status_code for answer in answers} <= {200, 400, 409}
    assert (await invited.members()).count(ADA) == 1


async def test_an_account_that_was_disabled_does_not_join(invited: Invited) -> None:
    await invited.person("ada", ADA)
    _, token = await invited.invited()
    path = f"/api/users/{invited.tenants.users['ada']}"
    assert (await invited.tenants.call("root", "PUT", path, {"isActive": False})).status_code == 200
    assert (await invited.auth("accept", {"token": token}, whom="ada")).status_code == 401


@pytest.mark.promise("tenants, invitations: a used link does not bring back whoever left")
async def test_a_former_member_cannot_rejoin_by_the_used_link(invited: Invited) -> None:
    await invited.person("ada", ADA)
    _, token = await invited.invited()
    assert (await invited.auth("accept", {"token": token}, whom="ada")).status_code == 200
    path = f"/api/tenants/{invited.tenants.tenants['acme']}/users/{invited.tenants.users['ada']}"
    assert (await invited.tenants.call("root", "DELETE", path)).status_code == 200
    await invited.tenants.app.login("ada", ADA)
    assert told(await invited.auth("accept", {"token": token}, whom="ada")) == WRONG_LINK


@pytest.mark.promise(
    "tenants, invitations: the answer to an invitation does not depend on accounts or other tenants, nor does its work "
    "(better-auth)"
)
async def test_the_answer_to_an_invitation_does_not_depend_on_accounts_or_other_tenants(invited: Invited) -> None:
    await invited.person("known", "known@example.com")
    await invited.tenants.call("stranger", "POST", "/api/invitations", {"email": "elsewhere@example.com"})
    answers = [
        shape(await invited.invite(email))
        for email in ("unknown@example.com", "known@example.com", "elsewhere@example.com", email_of("member"), ADMIN)
    ]
    assert all(answer == answers[0] for answer in answers)


def shape(answer: httpx.Response) -> tuple[int, Json]:
    varies = {"id": "", "email": ""}
    return answer.status_code, answer.json()["data"] | varies


@pytest.mark.promise(
    "tenants, invitations: the answer to an invitation does not depend on accounts or other tenants, nor does its work "
    "(better-auth)"
)
async def test_nothing_reads_accounts_when_somebody_is_invited(invited: Invited) -> None:
    """So the time of the answer cannot tell either: with no account stored at all it is the same work."""
    async with invited.database.changing() as store:
        kept, store.users = store.users, {}
    assert (await invited.invite()).status_code == 201
    async with invited.database.changing() as store:
        store.users = kept


NAMES = [
    "Acme\r\nBcc: eve@example.org",
    "{{ 7 * 7 }}",
    "<script>alert(1)</script>",
    "https://evil.example/login",
    "www.evil.example",
    "evil．example",
    "x" * 300,
]


@pytest.mark.promise("tenants, invitations: names in a mail are text: no header, template, markup or whole address")
@pytest.mark.parametrize("name", NAMES)
async def test_a_name_in_a_mail_is_text_and_no_address(invited: Invited, name: str) -> None:
    tenant_id, inviter = UUID(invited.tenants.tenants["acme"]), UUID(invited.tenants.users["admin"])
    async with invited.database.changing() as store:
        store.tenants[tenant_id] = replace(store.tenants[tenant_id], name=name)
        store.users[inviter] = replace(store.users[inviter], full_name=name)
    await invited.invite()
    (mail,) = await invited.mails()
    assert mail.subject == "Tenantry: An invitation"
    assert "<script" not in mail.html
    # what `{{7*7}}` would become; the link has random digits of its own
    assert "49" not in re.sub(r"https?://\S+", "", mail.text)
    for said in (mail.text, mail.html):
        assert "evil.example" not in said
        assert "evil．example" not in said
        assert "example.org" not in said
        assert "x" * 61 not in said
    assert not [line for line in mail.text.splitlines() if line.startswith("Bcc")]


@pytest.mark.promise("tenants, invitations: Another tenant's invitation is not there")
async def test_an_invitation_of_a_tenant_is_not_there_for_another(invited: Invited) -> None:
    data, _ = await invited.invited()
    for method, path in (("DELETE", data["id"]), ("POST", f"{data['id']}/resend")):
        answer = await invited.tenants.call("stranger", method, f"/api/invitations/{path}")
        assert told(answer) == (404, "NOT_FOUND", [])
    assert (await invited.tenants.call("stranger", "GET", "/api/invitations")).json()["data"]["items"] == []


@pytest.mark.promise("tenants, invitations: Service accounts accept nothing")
async def test_a_service_account_accepts_nothing(invited: Invited) -> None:
    await invited.person("ada", ADA)
    _, token = await invited.invited()
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["ada"], now)
    invited.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    assert told(await invited.auth("accept", {"token": token}, whom="machine"))[:2] == (403, "FORBIDDEN")
