"""Accounts at social providers: listed, and unlinked as long as there is another way to log in."""

import asyncio
from typing import cast
from uuid import UUID

import pytest
from msgspec.structs import replace

from adapters.memory.identity.social import MemorySocialProviders
from domain.scope import EveryTenant
from tests.contracts.identity.test_factors import passkey_of
from tests.http.identity.joining.invited import Invited, told
from tests.http.two_tenants import email_of

PATH = "/api/auth/identities"


@pytest.fixture
async def linked(invited: Invited) -> Invited:
    """The member has an account at two providers, of which the service knows one, and no password."""
    user_id = UUID(invited.tenants.users["member"])
    async with invited.database.transaction(EveryTenant()) as tx:
        await tx.social.link("google", "1", user_id, invited.clock.now())
        await tx.social.link("retired", "2", user_id, invited.clock.now())
        state = await tx.users.state(user_id)
        assert state is not None
        await tx.users.save(replace(state.user, password_hash=None), state.user)
    return invited


async def unlink(invited: Invited, provider: str = "google", whom: str = "member") -> tuple[int, str]:
    answer = await invited.tenants.call(whom, "DELETE", f"{PATH}/{provider}")
    return answer.status_code, answer.json().get("errorCode", "")


async def with_password(invited: Invited) -> None:
    user_id = UUID(invited.tenants.users["member"])
    async with invited.database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(user_id, "hash", invited.clock.now())


@pytest.mark.promise("GET /api/auth/identities")
async def test_ones_identities_are_listed(linked: Invited) -> None:
    listed = (await linked.tenants.call("member", "GET", PATH)).json()["data"]
    assert [(item["provider"], item.keys()) for item in listed] == [
        ("google", {"provider", "linkedAt"}),
        ("retired", {"provider", "linkedAt"}),
    ]
    assert (await linked.tenants.call("clerk", "GET", PATH)).json()["data"] == []


@pytest.mark.promise("DELETE /api/auth/identities/{provider}")
@pytest.mark.promise("tenants, own account: the only way to log in stays, also when two are unlinked at once")
async def test_the_only_way_in_stays(linked: Invited) -> None:
    """An identity at a provider that the service does not ask any more is no way in."""
    assert await unlink(linked) == (409, "CONFLICT")
    assert await linked.mails() == []


@pytest.mark.promise("DELETE /api/auth/identities/{provider}")
async def test_a_password_is_another_way(linked: Invited) -> None:
    await with_password(linked)
    assert await unlink(linked) == (200, "")
    assert await unlink(linked) == (404, "NOT_FOUND")
    (mail,) = await linked.mails()
    assert (mail.to, mail.subject.partition(": ")[2]) == (
        email_of("member"),
        "A way to log in was removed from your account",
    )
    assert "google" in mail.text
    assert "links it again" in " ".join(mail.text.split())
    assert linked.actions()[-1] == "identity.unlinked"


async def test_the_answer_does_not_say_that_the_account_is_kept_out(linked: Invited) -> None:
    """A later login with the same address links it again: tests/application/identity/test_unlinked_identities.py."""
    await with_password(linked)
    said = (await linked.tenants.call("member", "DELETE", f"{PATH}/google")).json()["message"]
    assert said == "The account is unlinked. A login by it links it again while it has your address."


@pytest.mark.promise("tenants, own account: the only way to log in stays, also when two are unlinked at once")
@pytest.mark.parametrize(("verifies", "expected"), [(True, (200, "")), (False, (409, "CONFLICT"))])
async def test_a_passkey_is_another_way_if_it_knows_its_user(
    linked: Invited, verifies: bool, expected: tuple[int, str]
) -> None:
    async with linked.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(UUID(linked.tenants.users["member"]))
        assert state is not None
        passkey = passkey_of(state.user)
        assert passkey.credential is not None
        await tx.factors.add(replace(passkey, credential=replace(passkey.credential, uv_initialized=verifies)))
    assert await unlink(linked) == expected


@pytest.mark.promise("tenants, own account: the only way to log in stays, also when two are unlinked at once")
async def test_another_provider_is_another_way_and_of_two_at_once_one_stays(linked: Invited) -> None:
    user_id = UUID(linked.tenants.users["member"])
    async with linked.database.transaction(EveryTenant()) as tx:
        await tx.social.link("github", "3", user_id, linked.clock.now())
    providers = cast(MemorySocialProviders, linked.tenants.app.adapters.social)
    assert isinstance(providers.names, dict)
    providers.names.update(dict.fromkeys(("google", "github")))
    outcomes = await asyncio.gather(unlink(linked, "google"), unlink(linked, "GitHub"))
    assert sorted(status for status, _ in outcomes) == [200, 409]


@pytest.mark.promise("tenants, own account: nobody unlinks for others")
async def test_nobody_unlinks_for_others_without_a_recent_proof_or_as_a_machine(linked: Invited) -> None:
    assert await unlink(linked, whom="clerk") == (404, "NOT_FOUND")
    services, now = linked.tenants.app.services, linked.clock.now()
    claims = services.tokens.read(linked.tenants.app.tokens["member"], now)
    linked.tenants.app.tokens["old"] = services.tokens.sign(replace(claims, auth_time=0), now)
    linked.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    assert await unlink(linked, whom="old") == (401, "REAUTHENTICATION_REQUIRED")
    assert await unlink(linked, whom="machine") == (403, "FORBIDDEN")
    assert told(await linked.tenants.call("machine", "GET", PATH))[:2] == (403, "FORBIDDEN")


async def test_a_passkey_that_is_the_only_way_in_stays(linked: Invited, monkeypatch: pytest.MonkeyPatch) -> None:
    providers = cast(MemorySocialProviders, linked.tenants.app.adapters.social)
    assert isinstance(providers.names, dict)
    # other tests share the providers
    monkeypatch.delitem(providers.names, "google", raising=False)
    async with linked.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(UUID(linked.tenants.users["member"]))
        assert state is not None
        passkey = passkey_of(state.user)
        await tx.factors.add(passkey)

    async def remove() -> tuple[int, str]:
        answer = await linked.tenants.call("member", "DELETE", f"/api/auth/factors/{passkey.id}")
        return answer.status_code, answer.json().get("errorCode", "")

    assert await remove() == (409, "CONFLICT")
    monkeypatch.setitem(providers.names, "google", None)
    # of the two ways that are left one goes, whichever is asked for first
    assert sorted(status for status, _ in await asyncio.gather(remove(), unlink(linked))) == [200, 409]
