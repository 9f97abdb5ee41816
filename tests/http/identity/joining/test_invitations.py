"""Invitations over HTTP: from the mail to the membership, and every answer on the way."""

from datetime import timedelta

import pytest

from domain.identity.invitations import INVITATIONS_A_DAY, MAILS_A_DAY
from tests.http.app import TestApp
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.joining.invited import ADA, LOGIN, NEW, WRONG_LINK, Invited, told
from tests.http.identity.service_accounts.service_accounts import make_account, make_key
from tests.http.two_tenants import email_of

BRANDING = {"name": None, "logoUrl": None, "primaryColor": None, "supportEmail": None}
UNKNOWN = "01900000-0000-7000-8000-000000000000"


@pytest.mark.promise("POST /api/auth/invitations/preview")
@pytest.mark.promise("POST /api/auth/invitations/accept")
@pytest.mark.promise(
    "tenants, acceptance: From the mail to a Tenant Token in two requests for a new person, in two after the login for "
    "one with an account"
)
async def test_a_new_person_joins_by_two_requests(invited: Invited) -> None:
    _, token = await invited.invited(ADA, "Reader")
    preview = (await invited.auth("preview", {"token": token})).json()["data"]
    assert preview["accountExists"] is False
    answer = await invited.auth("accept", {"token": token, **NEW})
    data = answer.json()["data"]
    assert (answer.status_code, data["tokenType"], data["isFirstLogin"]) == (200, "Tenant", True)
    assert data["currentTenant"]["id"] == invited.tenants.tenants["acme"]
    assert claims_of(data["token"])["permissions"] == ["read:products"]
    invited.tenants.app.tokens["ada"] = data["token"]
    assert (await invited.tenants.call("ada", "GET", "/api/products")).status_code == 200
    profile = (await invited.tenants.call("ada", "GET", "/api/auth/me/complete")).json()["data"]
    assert (profile["email"], profile["fullName"]) == (ADA, "Ada Byron")
    assert (profile["emailConfirmed"], profile["emailProved"]) == (True, True)
    assert (await invited.tenants.app.call("POST", "/api/auth/login", json=LOGIN)).status_code == 200


@pytest.mark.promise("POST /api/auth/invitations/accept")
@pytest.mark.promise(
    "tenants, acceptance: From the mail to a Tenant Token in two requests for a new person, in two after the login for "
    "one with an account"
)
async def test_somebody_with_an_account_joins_and_switches(invited: Invited) -> None:
    await invited.person("ada", ADA)
    _, token = await invited.invited(ADA, "Reader")
    joined = await invited.auth("accept", {"token": token}, whom="ada")
    assert joined.status_code == 200, joined.text
    assert joined.json()["data"] == {
        "userId": invited.tenants.users["ada"],
        "tenantId": invited.tenants.tenants["acme"],
        "roles": ["Reader"],
        "isDefault": False,
        "joinedAt": joined.json()["data"]["joinedAt"],
    }
    body = {"tenantId": invited.tenants.tenants["acme"]}
    switched = await invited.tenants.call("ada", "POST", "/api/auth/switch-tenant", body)
    assert claims_of(switched.json()["data"]["token"])["permissions"] == ["read:products"]


@pytest.mark.promise("GET /api/invitations")
@pytest.mark.promise("POST /api/invitations")
@pytest.mark.promise("DELETE /api/invitations/{invitation_id}")
async def test_an_invitation_is_answered_listed_and_ended(invited: Invited) -> None:
    answer = await invited.invite(" Ada@Example.COM ", "Reader", "Member")
    data = answer.json()["data"]
    assert answer.status_code == 201
    assert list(data) == ["id", "email", "roles", "status", "invitedBy", "createdAt", "expiresAt"]
    assert (data["email"], data["roles"], data["status"]) == ("Ada@Example.COM", ["Member", "Reader"], "pending")
    assert data["invitedBy"] == invited.tenants.users["admin"]
    assert told(await invited.invite("ada@example.com")) == (409, "CONFLICT", ["email"])
    listed = (await invited.tenants.call("admin", "GET", "/api/invitations")).json()["data"]
    assert listed == {"items": [data], "totalCount": 1, "page": 1, "pageSize": 20, "totalPages": 1}
    gone = await invited.tenants.call("admin", "DELETE", f"/api/invitations/{data['id']}")
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})
    again = await invited.tenants.call("admin", "DELETE", f"/api/invitations/{data['id']}")
    assert told(again) == (409, "CONFLICT", [])
    assert (await invited.invite("ada@example.com")).status_code == 201
    for status, count in (("revoked", 1), ("pending", 1), ("pending,revoked", 2), ("accepted,expired", 0)):
        found = await invited.tenants.call("admin", "GET", f"/api/invitations?status={status}")
        assert found.json()["data"]["totalCount"] == count
    wrong = await invited.tenants.call("admin", "GET", "/api/invitations?status=old&page=0&x=1")
    assert sorted(told(wrong)[2]) == ["page", "status", "x"]


async def test_the_default_role_is_member(invited: Invited) -> None:
    answer = await invited.tenants.call("admin", "POST", "/api/invitations", {"email": ADA})
    assert answer.json()["data"]["roles"] == ["Member"]


async def test_an_invitation_expires_and_gives_way(invited: Invited) -> None:
    data, token = await invited.invited()
    invited.clock.move(timedelta(days=7))
    await invited.tenants.log_in("admin", "acme")
    assert told(await invited.auth("preview", {"token": token})) == WRONG_LINK
    assert told(await invited.auth("accept", {"token": token, **NEW})) == WRONG_LINK
    listed = (await invited.tenants.call("admin", "GET", "/api/invitations")).json()["data"]["items"]
    assert [found["status"] for found in listed] == ["expired"]
    resent = await invited.tenants.call("admin", "POST", f"/api/invitations/{data['id']}/resend")
    assert told(resent) == (409, "CONFLICT", [])
    assert (await invited.invite()).status_code == 201


@pytest.mark.promise("POST /api/invitations/{invitation_id}/resend")
async def test_a_link_that_is_sent_again_ends_the_old_one(invited: Invited) -> None:
    data, old = await invited.invited()
    invited.clock.move(timedelta(days=1))
    await invited.tenants.log_in("admin", "acme")
    renewed = await invited.tenants.call("admin", "POST", f"/api/invitations/{data['id']}/resend")
    assert renewed.status_code == 200
    assert renewed.json()["data"]["expiresAt"] > data["expiresAt"]
    new = await invited.token()
    assert told(await invited.auth("preview", {"token": old})) == WRONG_LINK
    assert told(await invited.auth("accept", {"token": old, **NEW})) == WRONG_LINK
    assert (await invited.auth("accept", {"token": new, **NEW})).status_code == 200


@pytest.mark.promise("POST /api/auth/invitations/decline")
async def test_an_invitation_is_declined_by_its_link(invited: Invited) -> None:
    _, token = await invited.invited()
    assert (await invited.auth("decline", {"token": token})).status_code == 200
    for path in ("decline", "preview", "accept"):
        body = {"token": token, **(NEW if path == "accept" else {})}
        assert told(await invited.auth(path, body)) == WRONG_LINK
    found = await invited.tenants.call("admin", "GET", "/api/invitations?status=declined")
    assert found.json()["data"]["totalCount"] == 1


@pytest.mark.promise("GET /api/auth/invitations")
@pytest.mark.promise("POST /api/auth/invitations/{invitation_id}/accept")
async def test_ones_own_invitations_are_listed_and_accepted(invited: Invited) -> None:
    await invited.person("ada", ADA)
    data, _ = await invited.invited(ADA, "Reader")
    refused = await invited.tenants.call("ada", "GET", "/api/auth/invitations")
    assert told(refused) == (403, "FORBIDDEN", [])
    await invited.prove(ADA)
    listed = (await invited.tenants.call("ada", "GET", "/api/auth/invitations")).json()["data"]
    assert listed == [
        {
            "id": data["id"],
            "tenant": {"name": "Acme", "branding": BRANDING},
            "invitedBy": "Somebody Else",
            "createdAt": data["createdAt"],
            "expiresAt": data["expiresAt"],
        }
    ]
    joined = await invited.auth(f"{data['id']}/accept", whom="ada")
    assert (joined.status_code, joined.json()["data"]["roles"]) == (200, ["Reader"])
    assert (await invited.tenants.call("ada", "GET", "/api/auth/invitations")).json()["data"] == []
    for other in (UNKNOWN, "x"):
        assert (await invited.auth(f"{other}/accept", whom="ada")).status_code == 404


async def test_an_accepted_invitation_can_be_accepted_again_during_the_membership(
    invited: Invited,
) -> None:
    await invited.person("ada", ADA)
    await invited.prove(ADA)
    data, token = await invited.invited(ADA, "Reader")
    first = await invited.auth(f"{data['id']}/accept", whom="ada")
    again = await invited.auth(f"{data['id']}/accept", whom="ada")
    by_link = await invited.auth("accept", {"token": token}, whom="ada")
    assert (again.status_code, again.json()["data"]) == (200, first.json()["data"])
    assert by_link.json()["data"] == first.json()["data"]
    assert invited.actions().count("invitation.accepted") == 1
    for other in ("stranger", "member"):
        await invited.prove(email_of(other))
        assert (await invited.auth(f"{data['id']}/accept", whom=other)).status_code == 404
    path = f"/api/tenants/{invited.tenants.tenants['acme']}/users/{first.json()['data']['userId']}"
    assert (await invited.tenants.call("admin", "DELETE", path)).status_code == 200
    # The removal has made the token stale.
    await invited.tenants.app.login("ada", ADA, invited.tenants.tenants["other"])
    assert (await invited.auth(f"{data['id']}/accept", whom="ada")).status_code == 404


async def test_a_member_stays_what_the_member_is(invited: Invited) -> None:
    _, token = await invited.invited(email_of("member"), "Reader")
    for _ in range(2):
        joined = await invited.auth("accept", {"token": token}, whom="member")
        assert (joined.status_code, joined.json()["data"]["roles"]) == (200, [])
    assert await invited.roles_of(email_of("member")) == []


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["fullName", "password"]),
        ({"fullName": "Ada"}, ["password"]),
        ({**NEW, "password": "short"}, ["password"]),
        ({**NEW, "fullName": ""}, ["fullName"]),
        ({**NEW, "phoneNumber": "1" * 51}, ["phoneNumber"]),
        ({**NEW, "roles": ["Admin"]}, ["roles"]),
        ({**NEW, "email": "else@example.com"}, ["email"]),
    ],
)
async def test_what_a_new_account_lacks_is_named_and_the_link_stays(
    invited: Invited, body: dict[str, str], fields: list[str]
) -> None:
    _, token = await invited.invited()
    assert told(await invited.auth("accept", {"token": token, **body})) == (400, "VALIDATION_ERROR", fields)
    assert (await invited.auth("accept", {"token": token, **NEW})).status_code == 200


async def test_an_address_with_an_account_logs_in_first(invited: Invited) -> None:
    await invited.person("ada", ADA)
    _, token = await invited.invited()
    assert (await invited.auth("preview", {"token": token})).json()["data"]["accountExists"] is True
    assert told(await invited.auth("accept", {"token": token, **NEW})) == (409, "CONFLICT", ["email"])
    assert (await invited.auth("accept", {"token": token}, whom="ada")).status_code == 200


@pytest.mark.promise("POST /api/invitations/batch")
@pytest.mark.promise("tenants, acceptance: a hundred invitations, their mails and audit lines in one statement")
async def test_a_batch_is_sent_whole_or_not_at_all(invited: Invited) -> None:
    await invited.invited("old@example.com")

    async def send(*items: object) -> tuple[int, str, list[str]]:
        return told(await invited.tenants.call("admin", "POST", "/api/invitations/batch", {"items": [*items]}))

    good = {"email": "a@example.com", "roles": ["Reader"]}
    assert await send(good, {"email": "x"}, {"email": "A@EXAMPLE.com"}) == (
        400,
        "VALIDATION_ERROR",
        ["items[1].email", "items[2].email"],
    )
    assert (await send(good, {"email": "b@example.com", "roles": ["None"]}))[2] == ["items[1].roles"]
    assert await send(good, {"email": "old@example.com"}) == (409, "CONFLICT", ["items[1].email"])
    assert (await send())[2] == ["items"]
    assert (await send(*[{"email": f"u{n}@example.com"} for n in range(101)]))[2] == ["items"]
    assert await invited.mails() == []
    items = [{"email": f"u{n}@example.com"} for n in range(100)]
    made = await invited.tenants.call("admin", "POST", "/api/invitations/batch", {"items": items})
    assert made.status_code == 201
    assert [item["email"] for item in made.json()["data"]["items"]] == [item["email"] for item in items]
    assert sorted(mail.to for mail in await invited.mails()) == sorted(item["email"] for item in items)


async def test_a_batch_names_the_items_with_roles_that_cannot_be_granted(invited: Invited) -> None:
    items = [{"email": f"{role}@example.com", "roles": [role]} for role in ("Reader", "Admin", "Clerk")]
    answer = await invited.tenants.call("host", "POST", "/api/invitations/batch", {"items": items})
    assert told(answer) == (403, "FORBIDDEN", ["items[1].roles", "items[2].roles"])


async def test_a_tenant_sends_so_many_a_day(invited: Invited) -> None:
    for start in range(0, INVITATIONS_A_DAY, 100):
        items = [{"email": f"u{start + n}@example.com"} for n in range(100)]
        made = await invited.tenants.call("admin", "POST", "/api/invitations/batch", {"items": items})
        assert made.status_code == 201
    refused = await invited.invite()
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert (await invited.tenants.call("stranger", "POST", "/api/invitations", {"email": ADA})).status_code == 201
    invited.clock.move(timedelta(days=1))
    await invited.tenants.log_in("admin", "acme")
    assert (await invited.invite()).status_code == 201


@pytest.mark.promise(
    "tenants, invitations: the answer to an invitation does not depend on accounts or other tenants, nor does its work "
    "(better-auth)"
)
async def test_an_address_gets_a_limited_number_of_mails_per_day_without_an_error(invited: Invited) -> None:
    data, token = await invited.invited()
    for _ in range(MAILS_A_DAY - 1):
        resent = await invited.tenants.call("admin", "POST", f"/api/invitations/{data['id']}/resend")
        assert resent.status_code == 200
        token = await invited.token()
    silent = await invited.tenants.call("admin", "POST", f"/api/invitations/{data['id']}/resend")
    elsewhere = await invited.tenants.call("stranger", "POST", "/api/invitations", {"email": ADA})
    assert (silent.status_code, elsewhere.status_code) == (200, 201)
    assert silent.json()["data"].keys() == data.keys() == elsewhere.json()["data"].keys()
    assert await invited.mails() == []
    # The link of the last mail stays the one that works.
    assert (await invited.auth("accept", {"token": token, **NEW})).status_code == 200


async def test_answers_are_in_the_audit_trail(invited: Invited) -> None:
    data, _ = await invited.invited()
    await invited.tenants.call("admin", "POST", f"/api/invitations/{data['id']}/resend")
    await invited.auth("accept", {"token": await invited.token(), **NEW})
    _, token = await invited.invited("b@example.com")
    await invited.auth("decline", {"token": token})
    data, _ = await invited.invited("c@example.com")
    await invited.tenants.call("admin", "DELETE", f"/api/invitations/{data['id']}")
    noted = [action for action in invited.actions() if action.startswith(("invitation.", "user.reg"))]
    sent = "invitation.sent"
    assert noted[:4] == [sent, "invitation.resent", "invitation.accepted", "user.registered"]
    assert noted[4:] == [sent, "invitation.declined", sent, "invitation.revoked"]


@pytest.mark.promise("tenants, invitations: the preview says nothing without the secret, and is limited")
async def test_the_limits_are_counted(app: TestApp) -> None:
    for path, count in (("/api/auth/invitations/preview", 10), ("/api/auth/invitations/decline", 10)):
        answer = await app.call("POST", path, json={"token": "x"})
        assert answer.headers["X-RateLimit-Limit"] == str(count)
    answer = await app.call("POST", "/api/invitations", as_whom="acme", json={"email": ADA})
    assert answer.headers["X-RateLimit-Limit"] == "20"


async def test_a_password_may_come_encrypted_as_everywhere(invited: Invited) -> None:
    _, token = await invited.invited()
    body = {"token": token, **NEW, "isPasswordEncrypted": True}
    assert told(await invited.auth("accept", body)) == (400, "VALIDATION_ERROR", ["password"])


async def test_an_invalid_token_is_refused_even_where_no_token_is_required(invited: Invited) -> None:
    _, token = await invited.invited()
    invited.tenants.app.tokens["forged"] = "a.b.c"
    answer = await invited.auth("accept", {"token": token, **NEW}, whom="forged")
    assert told(answer) == (401, "TOKEN_INVALID", [])


async def test_a_service_account_can_invite_while_it_has_the_permission(invited: Invited) -> None:
    tenants = invited.tenants
    program = await make_account(tenants, roles=["Host", "Member"], name="Sign-up form")
    await make_key(tenants, program, name="form")
    refused = await invited.invite("eve@example.com", "Admin", whom="form")
    assert told(refused)[:2] == (403, "FORBIDDEN")
    _, token = await invited.invited(ADA, "Member", whom="form")
    preview = await invited.auth("preview", {"token": token})
    assert preview.json()["data"]["invitedBy"] == "Sign-up form"
    await invited.person("ada", ADA)
    await invited.prove(ADA)
    assert len((await invited.tenants.app.call("GET", "/api/auth/invitations", as_whom="ada")).json()["data"]) == 1
    assert (await invited.auth("accept", {"token": token}, whom="ada")).status_code == 200
    assert ADA in await invited.members()
    path = f"/api/service-accounts/{program['id']}"
    for change in ({"roles": ["Member"]}, {"roles": ["Host", "Member"], "isActive": False}):
        _, late = await invited.invited("eve@example.com", "Member", whom="form")
        assert (await tenants.call("admin", "PUT", path, change)).status_code == 200
        refused = await invited.auth("accept", {"token": late, **NEW})
        assert told(refused) == WRONG_LINK
        await tenants.call("admin", "PUT", path, {"roles": ["Host", "Member"], "isActive": True})
        listed = await tenants.call("admin", "GET", "/api/invitations?status=pending")
        for waiting in listed.json()["data"]["items"]:
            await tenants.call("admin", "DELETE", f"/api/invitations/{waiting['id']}")
    _, orphaned = await invited.invited("eve@example.com", "Member", whom="form")
    await tenants.call("admin", "DELETE", path)
    assert told(await invited.auth("preview", {"token": orphaned})) == WRONG_LINK


@pytest.mark.parametrize(
    "application", [{"allowedTenantIds": []}, {"requiredPermission": "sell:products"}, {"isActive": False}]
)
async def test_an_application_that_refuses_the_login_leaves_the_invitation(
    invited: Invited, application: dict[str, object]
) -> None:
    tenants, (_, token) = invited.tenants, await invited.invited(ADA, "Reader")
    made = await tenants.call("root", "POST", "/api/applications", {"appId": "shop", "name": "Shop", **application})
    assert made.status_code == 201, made.text
    body, path = {"token": token, **NEW}, "/api/auth/invitations/accept"
    refused = await tenants.app.client.post(path, json=body, headers={"X-App-Id": "shop"})
    assert told(refused)[:2] == (403, "FORBIDDEN")
    assert (await invited.auth("preview", {"token": token})).json()["data"]["accountExists"] is False
    assert ADA not in await invited.members()
    assert (await invited.auth("accept", {"token": token, **NEW})).status_code == 200


async def test_an_application_is_asked_with_the_permissions_of_the_invitation(invited: Invited) -> None:
    application = {"appId": "shop", "name": "Shop", "requiredPermission": "read:products"}
    assert (await invited.tenants.call("root", "POST", "/api/applications", application)).status_code == 201
    _, token = await invited.invited(ADA, "Reader")
    answer = await invited.tenants.app.client.post(
        "/api/auth/invitations/accept", json={"token": token, **NEW}, headers={"X-App-Id": "shop"}
    )
    assert answer.status_code == 200, answer.text
    assert claims_of(answer.json()["data"]["token"])["app_id"] == "shop"
