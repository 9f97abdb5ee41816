"""The identifier of one's own tenant, which a guesser tries as a password."""

import pytest

from tests.http.app import PASSWORD
from tests.http.identity.joining.invited import NEW, Invited, told
from tests.http.two_tenants import email_of

MADE_OF_IT = ["acme2026", "Acme_2026!", "ACME12345"]
MADE_OF_THE_NAME = "zebraworks1"
OTHERS = "other-2026!"


@pytest.fixture
async def renamed(invited: Invited) -> Invited:
    """``acme`` under a name that its identifier does not resemble."""
    path = f"/api/tenants/{invited.tenants.tenants['acme']}"
    answer = await invited.tenants.call("root", "PUT", path, {"name": "Zebra Works"})
    assert answer.status_code == 200, answer.text
    return invited


@pytest.mark.promise("security, secrets: a new password is not made of the account, the service or a tenant")
@pytest.mark.parametrize("password", [*MADE_OF_IT, MADE_OF_THE_NAME])
async def test_a_password_made_of_the_identifier_of_ones_tenant_is_refused(renamed: Invited, password: str) -> None:
    refused = (400, "VALIDATION_ERROR")
    change = {"currentPassword": PASSWORD, "newPassword": password, "isPasswordEncrypted": False}
    changed = await renamed.tenants.call("member", "POST", "/api/auth/change-password", change)
    assert told(changed) == (*refused, ["newPassword"])
    user = {"email": "new@acme.example", "password": password, "fullName": "Somebody New"}
    assert told(await renamed.tenants.call("admin", "POST", "/api/users", user)) == (*refused, ["password"])
    _, token = await renamed.invited()
    body = {"token": token, **NEW, "password": password}
    assert told(await renamed.auth("accept", body)) == (*refused, ["password"])
    await renamed.tenants.app.call("POST", "/api/auth/request-password-reset", json={"email": email_of("member")})
    reset = {"email": email_of("member"), "token": await renamed.token(), "newPassword": password}
    answer = await renamed.tenants.app.call("POST", "/api/auth/reset-password", json=reset)
    assert told(answer) == (*refused, ["newPassword"])


async def test_a_password_made_of_the_identifier_of_another_tenant_is_accepted(renamed: Invited) -> None:
    change = {"currentPassword": PASSWORD, "newPassword": OTHERS, "isPasswordEncrypted": False}
    assert (await renamed.tenants.call("member", "POST", "/api/auth/change-password", change)).status_code == 200
    assert told(await renamed.tenants.call("stranger", "POST", "/api/auth/change-password", change)) == (
        *(400, "VALIDATION_ERROR"),
        ["newPassword"],
    )
