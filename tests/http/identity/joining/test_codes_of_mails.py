"""The codes that mails show beside their links, for readers whose mail program cuts what stands behind the ``#``."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest

from application.ports.mail_delivery import Message
from tests.builders import link_in, said_by
from tests.http.app import PASSWORD
from tests.http.identity.joining.invited import ADA, LOGIN, NEW, WRONG_LINK, Invited, told
from tests.http.two_tenants import email_of

CODE = re.compile(r"^([0-9A-Z]{4}-){3}[0-9A-Z]{4}$", re.MULTILINE)
NEW_PASSWORD = "another long password"

spelled = pytest.mark.parametrize(
    "spell",
    [str, str.lower, lambda code: code.replace("-", ""), lambda code: f" {code.replace('-', ' ').swapcase()} "],
    ids=["as shown", "lower case", "without hyphens", "with spaces"],
)
Spell = Callable[[str], str]


def code_in(mail: Message) -> str:
    """The code in the text of the mail, which its HTML and its link have too."""
    found = CODE.search(mail.text)
    assert found, mail.text
    assert found[0] in mail.html
    assert said_by(link_in(mail))["token"] == found[0]
    return found[0]


async def code(invited: Invited) -> str:
    (mail,) = await invited.mails()
    return code_in(mail)


@pytest.mark.promise("identity, accounts and mail: a code to type, for links that arrive cut")
@spelled
async def test_a_password_is_set_by_the_code(invited: Invited, spell: Spell) -> None:
    app = invited.tenants.app
    await app.call("POST", "/api/auth/request-password-reset", json={"email": email_of("member")})
    body = {"email": email_of("member"), "token": spell(await code(invited)), "newPassword": NEW_PASSWORD}
    stranger = await app.call("POST", "/api/auth/reset-password", json={**body, "email": email_of("admin")})
    assert told(stranger) == WRONG_LINK
    assert (await app.call("POST", "/api/auth/reset-password", json=body)).status_code == 200
    assert told(await app.call("POST", "/api/auth/reset-password", json=body)) == WRONG_LINK


@pytest.mark.promise("identity, accounts and mail: a code to type, for links that arrive cut")
@spelled
async def test_an_invitation_is_accepted_by_the_code(invited: Invited, spell: Spell) -> None:
    assert (await invited.invite()).status_code == 201
    typed = spell(await code(invited))
    assert (await invited.auth("preview", {"token": typed})).json()["data"]["email"] == ADA
    assert (await invited.auth("accept", {"token": typed, **NEW})).status_code == 200
    assert told(await invited.auth("accept", {"token": typed, **NEW})) == WRONG_LINK


@pytest.mark.promise("identity, accounts and mail: a code to type, for links that arrive cut")
@spelled
async def test_an_address_is_confirmed_by_the_code(invited: Invited, spell: Spell) -> None:
    app = invited.tenants.app
    assert (await app.call("POST", "/api/auth/register", json={"email": ADA, **NEW})).status_code == 201
    body = {"email": ADA, "token": spell(await code(invited))}
    assert (await app.call("POST", "/api/auth/confirm-email", json=body)).status_code == 200
    assert (await app.call("POST", "/api/auth/login", json=LOGIN)).status_code == 200


@spelled
async def test_a_changed_address_is_confirmed_by_the_code(invited: Invited, spell: Spell) -> None:
    change = {"email": "new@acme.example"}
    asked = await invited.tenants.call("member", "POST", "/api/auth/me/email", change)
    assert asked.status_code == 200, asked.text
    typed = next(spell(code_in(mail)) for mail in await invited.mails() if CODE.search(mail.text))
    body = {"email": "new@acme.example", "token": typed}
    assert (await invited.tenants.app.call("POST", "/api/auth/confirm-email", json=body)).status_code == 200


async def test_a_code_lives_as_long_as_its_link(invited: Invited) -> None:
    app = invited.tenants.app
    await app.call("POST", "/api/auth/request-password-reset", json={"email": email_of("member")})
    body = {"email": email_of("member"), "token": await code(invited), "newPassword": NEW_PASSWORD}
    invited.clock.move(timedelta(minutes=60))
    assert told(await app.call("POST", "/api/auth/reset-password", json=body)) == WRONG_LINK


@pytest.mark.parametrize("typed", ["", "0000-0000-0000-0000", "0000", "ß" * 16, "x" * 43])
async def test_a_wrong_code_is_refused(invited: Invited, typed: str) -> None:
    app = invited.tenants.app
    await app.call("POST", "/api/auth/request-password-reset", json={"email": email_of("member")})
    body = {"email": email_of("member"), "token": typed, "newPassword": NEW_PASSWORD}
    assert told(await app.call("POST", "/api/auth/reset-password", json=body)) == WRONG_LINK
    assert told(await invited.auth("preview", {"token": typed})) == WRONG_LINK


async def test_a_notice_shows_no_code(invited: Invited) -> None:
    change = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, "isPasswordEncrypted": False}
    await invited.tenants.call("member", "POST", "/api/auth/change-password", change)
    (mail,) = await invited.mails()
    assert not CODE.search(mail.text)
