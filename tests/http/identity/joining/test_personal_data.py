"""An export of everything that is stored about oneself."""

import json

import pytest
from msgspec.structs import replace

from tests.http.app import PASSWORD
from tests.http.identity.joining.invited import Invited, told
from tests.http.two_tenants import email_of

PATH = "/api/auth/me/export"


@pytest.mark.promise("GET /api/auth/me/export")
async def test_a_person_gets_what_is_stored_about_them(invited: Invited) -> None:
    await invited.invite(whom="admin")
    answer = await invited.tenants.call("admin", "GET", PATH)
    data = answer.json()["data"]
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert (data["account"]["email"], data["account"]["hasPassword"]) == (email_of("admin"), True)
    assert [(held["tenantName"], held["roles"]) for held in data["memberships"]] == [("Acme", ["Admin"])]
    assert [session["methods"] for session in data["sessions"]] == [["pwd"]]
    assert [sent["status"] for sent in data["invitationsSent"]] == ["pending"]
    assert "invitation.sent" in {line["action"] for line in data["events"]}


@pytest.mark.promise(
    "tenants, own account: an export is complete, of nobody else, without secrets; a new table or column is noticed"
)
async def test_it_contains_no_secret_and_nobody_elses_address(invited: Invited) -> None:
    await invited.invite("somebody.else@example.com", whom="admin")
    text = (await invited.tenants.call("admin", "GET", PATH)).text
    assert "somebody.else" not in text
    for stored in invited.database.committed().users.values():
        assert stored.password_hash is None or stored.password_hash not in text
    for invitation in invited.database.committed().invitations.values():
        assert invitation.hash not in text
    assert PASSWORD not in text
    assert "argon2" not in text
    assert email_of("clerk") not in json.dumps(text)


@pytest.mark.promise(
    "tenants, own account: an export is complete, of nobody else, without secrets; a new table or column is noticed"
)
async def test_it_asks_for_a_recent_proof_of_a_person(invited: Invited) -> None:
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["member"], now)
    invited.tenants.app.tokens["old"] = services.tokens.sign(replace(claims, auth_time=0), now)
    invited.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    assert told(await invited.tenants.call("old", "GET", PATH))[:2] == (401, "REAUTHENTICATION_REQUIRED")
    assert told(await invited.tenants.call("machine", "GET", PATH))[:2] == (403, "FORBIDDEN")
