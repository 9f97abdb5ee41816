"""Sessions of members: listed and ended by administrators, in their tenant alone.

Accounts that somebody made for another's address, with a factor of theirs: it logs nobody in once the owner came.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import cast
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
from msgspec import UNSET
from msgspec.structs import replace

from adapters.memory.identity.social import MemorySocialProviders
from application.identity.factors.forms import FinishForm
from application.ports.identity.accounts import SocialIdentity
from application.ports.mail_delivery import Message
from domain.errors import NotFound, TokenInvalid
from domain.identity.tokens import caller_of
from domain.scope import Client, EveryTenant
from tests.authenticator import Authenticator
from tests.builders import link_in, said_by
from tests.http.app import PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.identity.factors.factors import Person, actions
from tests.http.identity.factors.factors import move as move_of_prepared_accounts
from tests.http.identity.factors.steps import claims_of, join, log_in, move, refresh
from tests.http.identity.hosted_login.handing_over import SETTINGS
from tests.http.two_tenants import TwoTenants

UNKNOWN = "00000000-0000-7000-8000-00000000beef"


async def reader_of(app: TestApp) -> str:
    return str((await app.call("GET", "/api/auth/me", as_whom="reader")).json()["data"]["id"])


async def sessions(app: TestApp, user_id: str, whom: str = "acme") -> list[dict[str, object]]:
    answer = await app.call("GET", f"/api/users/{user_id}/sessions", as_whom=whom)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, object]] = answer.json()["data"]["items"]
    return items


async def code(app: TestApp, whom: str) -> tuple[int, str | None]:
    answer = await app.call("GET", "/api/auth/me", as_whom=whom)
    return answer.status_code, answer.json().get("errorCode")


async def targets(app: TestApp, action: str, whom: str = "acme") -> list[str]:
    trail = (await app.call("GET", f"/api/audit-events?action={action}", as_whom=whom)).json()
    return [line["targetId"] for line in trail["data"]["items"]]


@pytest.mark.promise("GET /api/users/{user_id}/sessions")
@pytest.mark.promise("DELETE /api/users/{user_id}/sessions")
@pytest.mark.promise("DELETE /api/users/{user_id}/sessions/{session_id}")
@pytest.mark.promise(
    "security, rights: Administrators list and end a member's sessions in their tenant, and none of one who may do more"
)
async def test_an_admin_lists_and_ends_a_member_s_sessions(app: TestApp) -> None:
    user_id = await reader_of(app)
    await app.login("second", "reader@acme.example")
    await app.login("third", "reader@acme.example")
    listed = await sessions(app, user_id)
    assert len(listed) == 3
    assert {session["isCurrent"] for session in listed} == {False}
    path = f"/api/users/{user_id}/sessions"
    ended = await app.call("DELETE", f"{path}/{listed[0]['id']}", as_whom="acme")
    assert (ended.status_code, ended.json()["isSuccess"]) == (200, True)
    assert await code(app, "third") == (401, "TOKEN_INVALID")
    assert await code(app, "second") == (200, None)
    assert (await app.call("DELETE", path, as_whom="acme")).status_code == 200
    assert await code(app, "second") == (401, "TOKEN_INVALID")
    assert await code(app, "reader") == (401, "TOKEN_INVALID")
    assert await sessions(app, user_id) == []
    assert (await app.call("DELETE", path, as_whom="acme")).status_code == 200
    assert await targets(app, "session.ended") == [listed[0]["id"]]
    assert await targets(app, "user.sessions-ended") == [user_id, user_id]


@pytest.mark.promise("GET /api/users/{user_id}/sessions")
@pytest.mark.promise("DELETE /api/users/{user_id}/sessions/{session_id}")
@pytest.mark.promise(
    "security, rights: Administrators list and end a member's sessions in their tenant, and none of one who may do more"
)
async def test_sessions_in_other_tenants_are_not_seen(app: TestApp) -> None:
    user_id = await reader_of(app)
    others = (await app.call("GET", "/api/auth/me", as_whom="root in other")).status_code
    assert others == 200
    tenants = (await app.call("GET", "/api/tenants?search=other", as_whom="root")).json()["data"]["items"]
    member = {"userId": user_id, "roles": ["Member"]}
    made = await app.call("POST", f"/api/tenants/{tenants[0]['id']}/users", as_whom="root", json=member)
    assert made.status_code == 201, made.text
    elsewhere = await app.login("reader there", "reader@acme.example", tenants[0]["id"])
    there = await sessions(app, user_id, "other")
    assert len(there) == 1
    # the membership made the earlier token stale, and its session stays
    assert len(await sessions(app, user_id)) == 1
    path = f"/api/users/{user_id}/sessions/{there[0]['id']}"
    assert not_found(await app.call("DELETE", path, as_whom="acme"))
    assert (await app.call("DELETE", f"/api/users/{user_id}/sessions", as_whom="acme")).status_code == 200
    # its access token may have been one for this tenant a moment ago: the session goes on with another
    assert await code(app, "reader there") == (401, "TOKEN_EXPIRED")
    renewed = await app.call("POST", "/api/auth/refresh", json={"refreshToken": elsewhere["refreshToken"]})
    assert renewed.status_code == 200, renewed.text
    assert len(await sessions(app, user_id, "root")) == 1


async def test_a_session_that_switched_tenants_must_be_proved_again_to_return(tenants: TwoTenants) -> None:
    """The thief of a session steps aside into another tenant while an administrator ends the sessions of this one."""
    app, (acme, other) = tenants.app, (tenants.tenants[name] for name in ("acme", "other"))
    await join(tenants, "member", "other")
    user_id = tenants.users["member"]
    here = await log_in(tenants, "member", preferredTenantId=acme)
    moved = (await refresh(tenants, here["refreshToken"], tenantId=other)).json()["data"]
    app.tokens["kept"], app.tokens["moved"] = here["token"], moved["token"]
    assert await code(app, "kept") == (200, None)
    move(tenants, timedelta(seconds=1))
    assert (await tenants.call("admin", "DELETE", f"/api/users/{user_id}/sessions")).status_code == 200
    assert await code(app, "kept") == (401, "TOKEN_EXPIRED")
    # no access token is left that a proof could be shown with, and so the session stays where it is
    back = await refresh(tenants, moved["refreshToken"], tenantId=acme)
    assert (back.status_code, back.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    there = (await refresh(tenants, moved["refreshToken"])).json()["data"]
    app.tokens["moved"] = there["token"]
    switched = await app.call("POST", "/api/auth/switch-tenant", as_whom="moved", json={"tenantId": acme})
    assert (switched.status_code, switched.json()["errorCode"]) == (401, "REAUTHENTICATION_REQUIRED")
    body = {"password": PASSWORD, "isPasswordEncrypted": False}
    proved = await app.call("POST", "/api/auth/reauthenticate", as_whom="moved", json=body)
    assert proved.status_code == 200, proved.text
    app.tokens["moved"] = proved.json()["data"]["token"]
    entered = await app.call("POST", "/api/auth/switch-tenant", as_whom="moved", json={"tenantId": acme})
    assert entered.status_code == 200, entered.text
    assert (await log_in(tenants, "member", preferredTenantId=acme))["currentTenant"]["id"] == acme


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_users_of_other_tenants_are_answered_like_unknown_users(app: TestApp, method: str) -> None:
    foreign = await app.call(method, f"/api/users/{await reader_of(app)}/sessions", as_whom="other")
    unknown = await app.call(method, f"/api/users/{UNKNOWN}/sessions", as_whom="other")
    assert not_found(foreign)
    assert (foreign.status_code, foreign.json()) == (unknown.status_code, unknown.json())


@pytest.mark.promise("DELETE /api/users/{user_id}/sessions")
@pytest.mark.promise(
    "security, rights: Administrators list and end a member's sessions in their tenant, and none of one who may do more"
)
async def test_a_caller_cannot_end_the_sessions_of_a_member_with_more_rights(app: TestApp) -> None:
    await app.make_role("acme", "Clerk", ["read:users", "update:users"])
    await app.make_user("acme", "clerk@acme.example", ["Clerk"])
    await app.login("clerk", "clerk@acme.example")
    admin = str((await app.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"])
    assert len(await sessions(app, admin, "clerk")) == 1
    assert (await app.call("DELETE", f"/api/users/{admin}/sessions", as_whom="clerk")).status_code == 403
    assert await code(app, "acme") == (200, None)
    # who only reads ends nothing
    assert (await app.call("DELETE", f"/api/users/{admin}/sessions", as_whom="reader")).status_code == 403


def not_found(answer: httpx.Response) -> bool:
    return (answer.status_code, answer.json()["errorCode"]) == (404, NotFound.code)


OWNER = "owner@acme.example"
SOCIAL = "a token of google's"

Proof = Callable[[Person], Awaitable[None]]


@pytest_asyncio.fixture
async def squatter() -> Person:
    """Somebody with an account of an address that nobody has proved, logged in there, with an app and a passkey."""
    app = await open_test_app({**SETTINGS, "TENANTRY_CONFIRM_EMAIL": "false"})
    await seed(app)
    user_id = UUID(await app.make_user("acme", OWNER, ["Member"]))
    async with app.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(user_id)
        assert state is not None
        # As a registration leaves it; one that an administrator makes counts as confirmed.
        await tx.users.save(replace(state.user, email_confirmed=False), state.user)
    providers = app.adapters.social
    assert isinstance(providers, MemorySocialProviders)
    identity = SocialIdentity(provider="google", subject="1", email=OWNER, email_verified=True, name="Owner")
    cast(dict[str, SocialIdentity], providers.tokens)[SOCIAL] = identity
    person = Person(app, OWNER, "squatter")
    assert (await person.login()).status_code == 200
    await person.add_passkey()
    await person.add_app()
    await mails(app)
    return person


async def mails(app: TestApp) -> list[Message]:
    """The mails that are sent now."""
    app.sent.clear()
    while await app.services.relay.deliver():
        pass
    return list(app.sent)


async def link_of(person: Person, path: str) -> dict[str, str]:
    await mails(person.app)
    assert (await person.post(path, {"email": OWNER})).status_code == 200
    (mail,) = await mails(person.app)
    return said_by(link_in(mail))


async def by_reset(person: Person) -> None:
    link = await link_of(person, "request-password-reset")
    answer = await person.post("reset-password", {**link, "newPassword": PASSWORD, "isPasswordEncrypted": False})
    assert answer.status_code == 200, answer.text


async def by_confirmation(person: Person) -> None:
    answer = await person.post("confirm-email", await link_of(person, "resend-confirmation"))
    assert answer.status_code == 200, answer.text


async def by_provider(person: Person) -> None:
    answer = await person.post("social-login", {"provider": "google", "accessToken": SOCIAL})
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "MFA_REQUIRED")


@pytest.mark.promise(
    "second factors, ASVS 5.0: 6.4.4: passkeys of before the first proof of an address log nobody in alone "
    "(pre-hijacking)"
)
@pytest.mark.parametrize("prove", [by_reset, by_confirmation, by_provider])
async def test_a_first_proof_of_an_address_disables_login_with_earlier_passkeys(squatter: Person, prove: Proof) -> None:
    app, user_id = squatter.app, UUID(claims_of(squatter.app.tokens["squatter"])["sub"])
    await prove(squatter)
    assert (await squatter.passkey_login()).status_code == 400
    gone = await squatter.post("factors/totp/begin", {}, signed=True)
    assert (gone.status_code, gone.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert "factor.unproved" in await actions(app)
    # no proof of an address removes a factor: whoever reads the mails of another is not let in by them
    async with app.database.read_only(EveryTenant()) as read:
        assert {factor.kind for factor in await read.factors.of(user_id)} == {"passkey", "totp"}
        assert await read.recovery_codes.left(user_id) == 10
    if prove is not by_provider:  # whose claim takes the password as well
        assert (await squatter.login()).status_code == 401
        assert (await squatter.show_passkey(await squatter.ticket())).status_code == 200


async def test_a_passkey_added_after_the_first_proof_logs_in_without_a_password(squatter: Person) -> None:
    await by_reset(squatter)
    assert (await squatter.verify(await squatter.ticket())).status_code == 200
    key = Authenticator()
    await squatter.add_passkey(key)
    await by_reset(squatter)
    assert (await squatter.passkey_login()).status_code == 400
    assert (await squatter.passkey_login(key)).status_code == 200
    assert (await actions(squatter.app)).count("factor.unproved") == 1


async def test_a_ticket_of_before_the_first_proof_sets_up_nothing(squatter: Person) -> None:
    begun = await squatter.done("factors/totp/begin", {})
    squatter.secret = begun["secret"]
    await by_reset(squatter)
    late = await squatter.post(
        "factors/totp/finish", {"state": begun["state"], "code": squatter.code(), "name": "Phone"}, signed=True
    )
    assert (late.status_code, late.json()["errorCode"]) == (401, "TOKEN_INVALID")


async def test_adding_a_factor_during_a_proof_of_the_address_is_refused(squatter: Person) -> None:
    """The request had passed the check of its token before the address was proved."""
    services, now = squatter.app.services, squatter.app.clock.now()
    caller = caller_of(services.tokens.read(squatter.app.tokens["squatter"], now))
    begun = await services.my_factors.begin(caller, "totp")
    assert begun.secret is not UNSET
    await by_reset(squatter)
    form = FinishForm(state=begun.state, code=squatter.code(secret=begun.secret))
    with pytest.raises(TokenInvalid):
        await services.my_factors.finish(caller, "totp", form, Client(address="192.0.2.1", network="192.0.2.1"))
    async with squatter.app.database.read_only(EveryTenant()) as read:
        assert len(await read.factors.of(caller.user_id)) == 2  # those of before


async def test_a_passkey_from_before_the_proof_can_be_registered_again(squatter: Person) -> None:
    """A browser refuses to register an authenticator again whose credential is excluded."""
    begun = await squatter.done("factors/passkeys/begin", {})
    assert len(begun["options"]["excludeCredentials"]) == 1
    await by_reset(squatter)
    assert (await squatter.show_passkey(await squatter.ticket())).status_code == 200
    begun = await squatter.done("factors/passkeys/begin", {})
    assert begun["options"].get("excludeCredentials", []) == []


async def test_a_changed_address_is_as_good_as_a_first_proof_once_its_owner_sets_a_password(squatter: Person) -> None:
    """The owner opens the link of a change that they did not ask for, and comes to their senses."""
    await by_reset(squatter)
    assert (await squatter.verify(await squatter.ticket())).status_code == 200
    before, after = Authenticator(), Authenticator()
    await squatter.add_passkey(before)
    assert (await squatter.post("me/email", {"email": "victim@other.example"}, signed=True)).status_code == 200
    (link,) = [mail for mail in await mails(squatter.app) if mail.to == "victim@other.example"]
    assert (await squatter.post("confirm-email", said_by(link_in(link)))).status_code == 200
    move_of_prepared_accounts(squatter.app, timedelta(seconds=1))
    assert (await squatter.passkey_login(before)).status_code == 200
    await squatter.add_passkey(after)
    assert (await squatter.post("request-password-reset", {"email": "victim@other.example"})).status_code == 200
    (link,) = [mail for mail in await mails(squatter.app) if "set a new password" in mail.subject.lower()]
    body = {**said_by(link_in(link)), "newPassword": PASSWORD, "isPasswordEncrypted": False}
    assert (await squatter.post("reset-password", body)).status_code == 200
    logins = [await squatter.passkey_login(key) for key in (before, after)]
    assert [answer.status_code for answer in logins] == [400, 200]
