"""Mails of administration: whose roles were changed is told, and who keeps theirs is not."""

import pytest

from adapters.memory.mail import MemoryMailer
from tests.http.app import TestApp


async def told(app: TestApp) -> list[tuple[str, str]]:
    """Recipients and subjects of the mails that are sent now."""
    mailer = app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    mailer.sent.clear()
    await app.services.relay.deliver()
    return [(mail.to, mail.subject.partition(": ")[2]) for mail in mailer.sent]


ROLES = {
    "assign": ("POST", "/api/users/{user}/roles", "roleNames"),
    "update": ("PUT", "/api/users/{user}", "roles"),
    "membership": ("POST", "/api/tenants/{tenant}/users", "roles"),
}


@pytest.mark.promise(
    "security, rights: the owner learns by mail of a login from a new device, of a linked and of an unlinked identity, "
    "and of changed roles"
)
@pytest.mark.parametrize("how", ROLES)
async def test_changed_roles_are_told(app: TestApp, how: str) -> None:
    user = (await app.call("GET", "/api/auth/me", as_whom="reader")).json()["data"]["id"]
    tenant = (await app.call("GET", "/api/tenants/current", as_whom="acme")).json()["data"]["id"]
    method, path, field = ROLES[how]
    more = {"userId": user} if how == "membership" else {}
    for roles, expected in (
        (["Reader", "Member"], [("reader@acme.example", "Your roles were changed")]),
        (["Member", "Reader"], []),
    ):
        body = {field: roles, **more}
        answer = await app.call(method, path.format(user=user, tenant=tenant), as_whom="acme", json=body)
        assert answer.status_code == 200, answer.text
        assert await told(app) == expected
