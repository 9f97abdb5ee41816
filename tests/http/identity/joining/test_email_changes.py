"""A new address for one's own account: asked for, proved by a link, and what attackers make of it."""

import asyncio
from datetime import timedelta
from uuid import UUID

import httpx
import pytest
from msgspec.structs import replace

from application.ports.mail_delivery import Message
from domain.limits import LINKS_APART
from domain.scope import EveryTenant
from tests.builders import link_in, said_by
from tests.http.app import PASSWORD, Json
from tests.http.identity.joining.invited import WRONG_LINK, Invited, told
from tests.http.two_tenants import email_of

PATH = "/api/auth/me/email"
WANTED = "Member@New.example"


async def ask(invited: Invited, email: str = WANTED, whom: str = "member") -> httpx.Response:
    return await invited.tenants.call(whom, "POST", PATH, {"email": email})


async def confirm(invited: Invited, values: Json) -> httpx.Response:
    return await invited.tenants.app.call("POST", "/api/auth/confirm-email", json=values)


def link_to(mails: list[Message], email: str = WANTED) -> Json:
    (mail,) = [mail for mail in mails if mail.to == email]
    return dict(said_by(link_in(mail)))


async def asked(invited: Invited, email: str = WANTED, whom: str = "member") -> Json:
    """Values of the link that the new address gets."""
    answer = await ask(invited, email, whom)
    assert answer.status_code == 200, answer.text
    return link_to(await invited.mails(), email)


async def login(invited: Invited, email: str) -> httpx.Response:
    body = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False}
    return await invited.tenants.app.call("POST", "/api/auth/login", json=body)


async def address_of(invited: Invited, name: str = "member") -> tuple[str, bool]:
    async with invited.database.read_only(EveryTenant()) as read:
        state = await read.users.state(UUID(invited.tenants.users[name]))
    assert state is not None
    return state.user.email, state.user.email_proved


@pytest.mark.promise("POST /api/auth/me/email")
async def test_from_the_request_to_a_login_with_the_new_address(invited: Invited) -> None:
    answer = await ask(invited)
    assert (answer.status_code, answer.json().keys()) == (200, {"isSuccess", "message"})
    mails = await invited.mails()
    told_of = {mail.to: mail.subject.partition(": ")[2] for mail in mails}
    assert told_of == {
        WANTED: "Confirm your new e-mail address",
        email_of("member"): "Another e-mail address was asked for",
    }
    assert (await address_of(invited))[0] == email_of("member")
    assert (await confirm(invited, link_to(mails))).status_code == 200
    assert await address_of(invited) == (WANTED, True)
    assert [(mail.to, mail.subject.partition(": ")[2]) for mail in await invited.mails()] == [
        (email_of("member"), "The e-mail address of your account was changed")
    ]
    assert (await login(invited, WANTED)).status_code == 200
    assert told(await login(invited, email_of("member")))[:2] == (401, "INVALID_CREDENTIALS")
    assert invited.actions().count("email.change-requested") == 1
    assert invited.actions().count("email.changed") == 1


async def test_sessions_go_on_and_their_tokens_are_renewed(invited: Invited) -> None:
    data = await invited.tenants.app.login("member", email_of("member"))
    values = await asked(invited)
    assert (await confirm(invited, values)).status_code == 200
    stale = await invited.tenants.call("member", "GET", "/api/auth/me")
    assert told(stale)[:2] == (401, "TOKEN_EXPIRED")
    body = {"refreshToken": data["refreshToken"]}
    renewed = await invited.tenants.app.call("POST", "/api/auth/refresh", json=body)
    invited.tenants.app.tokens["member"] = renewed.json()["data"]["token"]
    assert (await invited.tenants.call("member", "GET", "/api/auth/me")).json()["data"]["email"] == WANTED


@pytest.mark.promise("tenants, own account: a link works once, for its own address, for a day, and only the last one")
async def test_a_confirmation_link_is_valid_once_and_only_for_its_address(invited: Invited) -> None:
    values = await asked(invited)
    assert told(await confirm(invited, {**values, "email": "other@new.example"})) == WRONG_LINK
    assert (await confirm(invited, values)).status_code == 200
    assert told(await confirm(invited, values)) == WRONG_LINK


@pytest.mark.promise("tenants, own account: a link works once, for its own address, for a day, and only the last one")
async def test_a_link_ends_after_a_day(invited: Invited) -> None:
    values = await asked(invited)
    invited.clock.move(timedelta(hours=24))
    assert told(await confirm(invited, values)) == WRONG_LINK


@pytest.mark.promise("tenants, own account: a link works once, for its own address, for a day, and only the last one")
async def test_the_last_request_counts(invited: Invited) -> None:
    first = await asked(invited)
    second = await asked(invited, "second@new.example")
    assert told(await confirm(invited, first)) == WRONG_LINK
    assert (await confirm(invited, second)).status_code == 200
    assert (await address_of(invited))[0] == "second@new.example"


@pytest.mark.promise("tenants, own account: Mails with such links cannot be sent at will")
async def test_asking_again_within_five_minutes_sends_nothing_and_leaves_the_link(invited: Invited) -> None:
    values = await asked(invited)
    assert (await ask(invited)).status_code == 200
    assert await invited.mails() == []
    assert (await confirm(invited, values)).status_code == 200


async def test_asking_again_after_five_minutes_sends_another_link(invited: Invited) -> None:
    await asked(invited)
    invited.clock.move(LINKS_APART - timedelta(microseconds=1))
    assert (await ask(invited)).status_code == 200
    assert await invited.mails() == []
    invited.clock.move(timedelta(microseconds=1))
    assert (await ask(invited)).status_code == 200
    assert WANTED in {mail.to for mail in await invited.mails()}


async def test_a_mail_with_an_expired_link_is_not_sent(invited: Invited) -> None:
    await ask(invited)
    await ask(invited, "second@new.example")
    assert WANTED not in {mail.to for mail in await invited.mails()}


@pytest.mark.promise("POST /api/auth/me/email")
@pytest.mark.parametrize(
    "email", ["", "nobody", "a@b@c.example", "a@new.example\r\nBcc: x@y.example", email_of("member")]
)
async def test_an_invalid_or_unchanged_new_address_is_refused(invited: Invited, email: str) -> None:
    assert told(await ask(invited, email)) == (400, "VALIDATION_ERROR", ["email"])
    assert await invited.mails() == []


async def test_an_address_can_be_changed_to_another_capitalisation(invited: Invited) -> None:
    respelt = email_of("member").title()
    values = await asked(invited, respelt)
    assert (await confirm(invited, values)).status_code == 200
    assert await address_of(invited) == (respelt, True)


@pytest.mark.promise("tenants, own account: Mails with such links cannot be sent at will")
async def test_five_a_day(invited: Invited) -> None:
    for number in range(5):
        assert (await ask(invited, f"n{number}@new.example")).status_code == 200
    refused = await ask(invited, "n5@new.example")
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) == timedelta(days=1).total_seconds()
    # a client that waits no whole second waits one
    invited.clock.move(timedelta(days=1, milliseconds=-1))
    await invited.tenants.log_in("member", "acme")
    assert (await ask(invited, "n5@new.example")).headers["Retry-After"] == "1"
    invited.clock.move(timedelta(milliseconds=1))
    assert (await ask(invited, "n5@new.example")).status_code == 200


async def test_a_new_password_ends_the_link_and_not_the_count_of_the_day(invited: Invited) -> None:
    passwords = [PASSWORD, *(f"another long password {number}" for number in range(5))]
    for number in range(5):
        assert (await ask(invited, f"n{number}@new.example")).status_code == 200
        form = {"currentPassword": passwords[number], "newPassword": passwords[number + 1]}
        body = {**form, "isPasswordEncrypted": False}
        changed = await invited.tenants.call("member", "POST", "/api/auth/change-password", body)
        assert changed.status_code == 200, changed.text
        await log_in_by(invited, passwords[number + 1])
    assert (await ask(invited, "n5@new.example")).status_code == 429
    invited.clock.move(timedelta(days=1))
    await log_in_by(invited, passwords[-1])
    assert (await ask(invited, "n5@new.example")).status_code == 200


async def log_in_by(invited: Invited, password: str) -> None:
    body = {"email": email_of("member"), "password": password, "isPasswordEncrypted": False}
    answer = await invited.tenants.app.client.post("/api/auth/login", json=body)
    invited.tenants.app.tokens["member"] = answer.json()["data"]["token"]


@pytest.mark.promise("tenants, own account: a disabled account keeps its address; machines and old logins change none")
async def test_it_asks_for_a_recent_proof_of_a_person(invited: Invited) -> None:
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["member"], now)
    invited.tenants.app.tokens["old"] = services.tokens.sign(replace(claims, auth_time=0), now)
    invited.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    assert told(await ask(invited, whom="old"))[:2] == (401, "REAUTHENTICATION_REQUIRED")
    assert told(await ask(invited, whom="machine"))[:2] == (403, "FORBIDDEN")


@pytest.mark.promise(
    "tenants, own account: the answer to a changed address does not tell whether it has an account, and its owner is "
    "told"
)
async def test_the_answer_does_not_reveal_whether_an_address_has_an_account(invited: Invited) -> None:
    taken, free = await ask(invited, email_of("clerk")), await ask(invited, WANTED, "clerk")
    assert (taken.status_code, taken.json()) == (free.status_code, free.json())
    mails = await invited.mails()
    (held,) = [mail for mail in mails if mail.to == email_of("clerk") and "Confirm" in mail.subject]
    assert "has an account" in held.text
    assert "#" not in held.text


@pytest.mark.promise(
    "tenants, own account: an address that was taken meanwhile stays its owner's; of two who race for one, one gets it"
)
async def test_an_address_that_was_taken_meanwhile_stays_its_owners(invited: Invited) -> None:
    values = await asked(invited)
    await invited.person("quick", WANTED.lower())
    assert told(await confirm(invited, values)) == (409, "CONFLICT", ["email"])
    assert (await address_of(invited))[0] == email_of("member")
    assert (await login(invited, WANTED)).json()["data"]["token"]


@pytest.mark.promise(
    "tenants, own account: an address that was taken meanwhile stays its owner's; of two who race for one, one gets it"
)
async def test_two_accounts_race_for_an_address_and_one_gets_it(invited: Invited) -> None:
    links = [await asked(invited, whom=whom) for whom in ("member", "clerk")]
    answers = await asyncio.gather(*(confirm(invited, values) for values in links))
    assert sorted(answer.status_code for answer in answers) == [200, 409]


@pytest.mark.promise("tenants, own account: a link works once, for its own address, for a day, and only the last one")
async def test_twenty_openings_at_once_change_the_address_once(invited: Invited) -> None:
    values = await asked(invited)
    answers = await asyncio.gather(*(confirm(invited, values) for _ in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 19
    assert invited.actions().count("email.changed") == 1


@pytest.mark.promise("tenants, own account: what was linked to the old address does not open the account any more")
async def test_changing_the_address_unlinks_identities_and_notifies_both_addresses(invited: Invited) -> None:
    user_id = UUID(invited.tenants.users["member"])
    async with invited.database.transaction(EveryTenant()) as tx:
        await tx.social.link("google", "1", user_id, invited.clock.now())
    assert (await confirm(invited, await asked(invited))).status_code == 200
    async with invited.database.read_only(EveryTenant()) as read:
        assert await read.social.of_user(user_id) == []
    assert sorted(mail.to for mail in await invited.mails()) == sorted([WANTED, email_of("member")])


@pytest.mark.promise(
    "tenants, own account: a thief with a session does not take the account along: a new password, set or reset, ends "
    "the link"
)
async def test_a_new_password_stops_a_thief_who_asked_for_an_address(invited: Invited) -> None:
    values = await asked(invited)
    await invited.tenants.app.call("POST", "/api/auth/request-password-reset", json={"email": email_of("member")})
    (mail,) = await invited.mails()
    body = {**said_by(link_in(mail)), "newPassword": "a password of the owner"}
    assert (await invited.tenants.app.call("POST", "/api/auth/reset-password", json=body)).status_code == 200
    assert told(await confirm(invited, values)) == WRONG_LINK


@pytest.mark.promise(
    "tenants, own account: a thief with a session does not take the account along: a new password, set or reset, ends "
    "the link"
)
async def test_a_changed_password_stops_it_as_well(invited: Invited) -> None:
    values = await asked(invited)
    body = {"currentPassword": PASSWORD, "newPassword": "a password of the owner"}
    assert (await invited.tenants.call("member", "POST", "/api/auth/change-password", body)).status_code == 200
    assert told(await confirm(invited, values)) == WRONG_LINK


@pytest.mark.promise(
    "tenants, own account: who registered a stranger's address does not take the account along (pre-hijacking)"
)
async def test_a_user_who_prepared_an_account_cannot_move_it_to_another_address(invited: Invited) -> None:
    """Pre-hijacking: somebody registers a stranger's address, and the stranger proves it later."""
    await invited.person("squatter", "victim@example.com")
    values = await asked(invited, "thief@example.com", "squatter")
    await invited.tenants.app.call("POST", "/api/auth/request-password-reset", json={"email": "victim@example.com"})
    (mail,) = await invited.mails()
    body = {**said_by(link_in(mail)), "newPassword": "a password of the owner"}
    await invited.tenants.app.call("POST", "/api/auth/reset-password", json=body)
    assert told(await confirm(invited, values)) == WRONG_LINK
    assert (await address_of(invited, "squatter"))[0] == "victim@example.com"


@pytest.mark.promise(
    "tenants, own account: who registered a stranger's address does not take the account along (pre-hijacking)"
)
async def test_changing_the_address_ends_earlier_confirmation_links(invited: Invited) -> None:
    values = await asked(invited)
    await invited.tenants.call(
        "admin", "PUT", f"/api/users/{invited.tenants.users['member']}", {"email": "m@x.example"}
    )
    assert told(await confirm(invited, values)) == WRONG_LINK


@pytest.mark.promise("tenants, own account: a disabled account keeps its address; machines and old logins change none")
async def test_the_address_of_a_disabled_account_cannot_be_changed(invited: Invited) -> None:
    values = await asked(invited)
    path = f"/api/users/{invited.tenants.users['member']}"
    assert (await invited.tenants.call("admin", "PUT", path, {"isActive": False})).status_code == 200
    assert told(await confirm(invited, values)) == WRONG_LINK
