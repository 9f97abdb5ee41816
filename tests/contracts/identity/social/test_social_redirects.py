"""Social providers by redirect: what browsers are sent there with, and which codes are anybody's.

Links of social identities: each to one user, removed with the user.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from msgspec.structs import replace

from adapters.memory.identity.social import IssuedCode, MemorySocialProviders
from adapters.social import HttpSocialProviders, ProviderSettings
from application.ports.identity.accounts import Authorization, LinkedProvider, ProviderCode, SocialProviders
from application.ports.whole_database import WholeDatabase
from domain.errors import ServiceUnavailable
from domain.identity.redirects import challenge_of
from domain.scope import EveryTenant
from tests.builders import NOW as NOW_OF_SOCIAL_IDENTITIES
from tests.builders import new_id, user
from tests.contracts.identity.social.test_social_providers import (
    AWAY,
    CLIENT,
    NAMES,
    NOW,
    SECRET,
    TOKEN,
    WELL,
    ada,
    id_token,
)
from tests.servers.fake_provider import Asked, FakeProvider, Said, fake_provider

CODE, NONCE, STATE, VERIFIER = "a-code", "a nonce", "a state", "v" * 43
BACK = "https://id.example/api/auth/social/google/callback"
ASKED = Authorization(redirect_uri=BACK, state=STATE, nonce=NONCE, challenge=challenge_of(VERIFIER))
BROUGHT = ProviderCode(code=CODE, redirect_uri=BACK, nonce=NONCE, verifier=VERIFIER)

TOKEN_PATHS = {
    "google": "/token",
    "github": "/login/oauth/access_token",
    "facebook": "/oauth/access_token",
    "microsoft": "/common/oauth2/v2.0/token",
}


def unsigned(**changes: Any) -> str:
    """An id token as it comes from Google's token endpoint, where nobody looks at its signature."""
    claims = {"iss": "https://accounts.google.com", "aud": CLIENT, "sub": "1", "nonce": NONCE}
    payload = json.dumps({"exp": NOW.timestamp() + 60, **claims, **changes}).encode()
    return f"e30.{base64.urlsafe_b64encode(payload).decode().rstrip('=')}.c2ln"


ID_TOKENS = {"google": unsigned(), "microsoft": id_token(nonce=NONCE, sub="s")}


def exchange(tokens: Mapping[str, object]) -> Any:
    """A token endpoint that gives ``tokens`` for the right code, verifier, address and secret."""
    right = {
        "grant_type": "authorization_code",
        "code": CODE,
        "code_verifier": VERIFIER,
        "redirect_uri": BACK,
        "client_id": CLIENT,
        "client_secret": SECRET,
    }

    def reply(asked: Asked) -> Said:
        sent = dict(parse_qsl(asked.body.decode()))
        return Said(body=tokens) if asked.method == "POST" and sent == right else Said(400, {"error": "invalid_grant"})

    return reply


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with fake_provider() as opened:
        opened.replies = dict(WELL)
        for name, path in TOKEN_PATHS.items():
            tokens = {"access_token": TOKEN, **({"id_token": ID_TOKENS[name]} if name in ID_TOKENS else {})}
            opened.replies[path] = exchange(tokens)
        yield opened


@pytest.fixture
async def http(provider: FakeProvider) -> AsyncIterator[HttpSocialProviders]:
    settings = ProviderSettings(client_id=CLIENT, client_secret=SECRET, base_url=provider.url)
    opened = HttpSocialProviders(dict.fromkeys(NAMES, settings), lambda: NOW)
    yield opened
    await opened.close()


@pytest.fixture(params=["memory", "http"])
def providers(request: pytest.FixtureRequest) -> SocialProviders:
    if request.param == "http":
        opened: SocialProviders = request.getfixturevalue("http")
        return opened
    memory = MemorySocialProviders(NAMES, redirecting=NAMES)
    memory.codes[CODE] = IssuedCode(ada("google"), ASKED)
    return memory


@pytest.mark.parametrize("name", NAMES)
def test_a_browser_is_sent_with_everything_that_binds_the_answer_to_it(providers: SocialProviders, name: str) -> None:
    assert set(providers.redirecting) == set(NAMES)
    query = parse_qs(urlsplit(providers.authorization_url(name, ASKED)).query)
    sent = {
        "response_type": ["code"],
        "redirect_uri": [BACK],
        "state": [STATE],
        "code_challenge": [challenge_of(VERIFIER)],
        "code_challenge_method": ["S256"],
    }
    assert sent.items() <= query.items()
    assert SECRET not in str(query)
    assert VERIFIER not in str(query)


async def test_a_code_says_who_brought_it(providers: SocialProviders) -> None:
    assert await providers.redeem("google", BROUGHT) == ada("google")


@pytest.mark.promise("sign-in pages, attacks: a provider's code, or id token, of another login (nonce, PKCE)")
@pytest.mark.parametrize(
    "wrong",
    [
        ProviderCode(code="another", redirect_uri=BACK, nonce=NONCE, verifier=VERIFIER),
        ProviderCode(code=CODE, redirect_uri=BACK, nonce=NONCE, verifier="w" * 43),
        ProviderCode(code=CODE, redirect_uri=BACK, nonce="another", verifier=VERIFIER),
        ProviderCode(code=CODE, redirect_uri=BACK + "/", nonce=NONCE, verifier=VERIFIER),
        ProviderCode(code="", redirect_uri=BACK, nonce=NONCE, verifier=VERIFIER),
    ],
)
async def test_no_other_code_is_anybodys(providers: SocialProviders, wrong: ProviderCode) -> None:
    assert await providers.redeem("google", wrong) is None


@pytest.mark.parametrize("name", NAMES)
async def test_each_provider_vouches_for_its_own(http: HttpSocialProviders, name: str) -> None:
    assert await http.redeem(name, BROUGHT) == ada(name)


FORGED = {
    "of another login": unsigned(nonce="another"),
    "without a nonce": unsigned(nonce=""),
    "for another application": unsigned(aud="theirs"),
    "of another issuer": unsigned(iss="https://evil.example"),
    "of another person than the access token": unsigned(sub="2"),
    "past": unsigned(exp=NOW.timestamp() - 120),
    "no token": "x",
    "no JSON": "e30.bm8.c2ln",
    "none": "",
}


@pytest.mark.promise("sign-in pages, attacks: a provider's code, or id token, of another login (nonce, PKCE)")
@pytest.mark.parametrize("token", FORGED.values(), ids=FORGED.keys())
async def test_an_id_token_of_google_is_checked(http: HttpSocialProviders, provider: FakeProvider, token: str) -> None:
    provider.replies["/token"] = exchange({"access_token": TOKEN, "id_token": token})
    assert await http.redeem("google", BROUGHT) is None


@pytest.mark.promise("sign-in pages, attacks: a provider's code, or id token, of another login (nonce, PKCE)")
@pytest.mark.parametrize("token", [id_token(), id_token(nonce="another", sub="s"), id_token(nonce=NONCE, aud="theirs")])
async def test_an_id_token_of_microsoft_is_checked(
    http: HttpSocialProviders, provider: FakeProvider, token: str
) -> None:
    provider.replies[TOKEN_PATHS["microsoft"]] = exchange({"id_token": token})
    assert await http.redeem("microsoft", BROUGHT) is None


async def test_an_error_that_is_called_a_success_is_none(http: HttpSocialProviders, provider: FakeProvider) -> None:
    provider.replies[TOKEN_PATHS["github"]] = Said(body={"error": "bad_verification_code"})
    assert await http.redeem("github", BROUGHT) is None


@pytest.mark.parametrize("why", ["an error", "no JSON", "ten megabytes", "a redirect"])
async def test_a_provider_that_fails_to_answer_is_unavailable(
    http: HttpSocialProviders, provider: FakeProvider, why: str
) -> None:
    provider.replies["/token"] = AWAY[why]
    with pytest.raises(ServiceUnavailable):
        await http.redeem("google", BROUGHT)


async def test_a_provider_without_a_secret_offers_no_browser_login() -> None:
    settings = ProviderSettings(client_id=CLIENT, client_secret="", base_url=None)
    opened = HttpSocialProviders({"google": settings}, lambda: NOW)
    assert set(opened.names) == {"google"}
    assert set(opened.redirecting) == set()
    await opened.close()


def test_the_real_hosts_are_fixed() -> None:
    settings = ProviderSettings(client_id=CLIENT, client_secret=SECRET, base_url=None)
    opened = HttpSocialProviders(dict.fromkeys(NAMES, settings), lambda: NOW)
    pages = {name: opened.authorization_url(name, ASKED).partition("?")[0] for name in NAMES}
    assert pages == {
        "google": "https://accounts.google.com/o/oauth2/v2/auth",
        "github": "https://github.com/login/oauth/authorize",
        "facebook": "https://www.facebook.com/dialog/oauth",
        "microsoft": "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
    }


async def test_an_identity_belongs_to_one_user(database: WholeDatabase) -> None:
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.add(bob)
        assert await tx.social.user_of("google", "1") is None
        assert await tx.social.link("google", "1", ada.id, NOW_OF_SOCIAL_IDENTITIES)
        assert not await tx.social.link("google", "1", bob.id, NOW_OF_SOCIAL_IDENTITIES)
        assert not await tx.social.link("google", "1", ada.id, NOW_OF_SOCIAL_IDENTITIES)
        assert await tx.social.link("github", "1", bob.id, NOW_OF_SOCIAL_IDENTITIES)
        assert await tx.social.user_of("google", "1") == ada.id
        assert await tx.social.user_of("github", "1") == bob.id


async def test_a_user_s_identities_are_listed_the_first_linked_first(database: WholeDatabase) -> None:
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.add(bob)
        await tx.social.link("google", "1", ada.id, NOW_OF_SOCIAL_IDENTITIES + timedelta(hours=1))
        await tx.social.link("github", "2", ada.id, NOW_OF_SOCIAL_IDENTITIES)
        await tx.social.link("google", "3", bob.id, NOW_OF_SOCIAL_IDENTITIES)
        assert await tx.social.of_user(ada.id) == [
            LinkedProvider("github", NOW_OF_SOCIAL_IDENTITIES),
            LinkedProvider("google", NOW_OF_SOCIAL_IDENTITIES + timedelta(hours=1)),
        ]
        assert await tx.social.of_user(new_id()) == []


async def test_unlinking_all_identities_of_a_user_does_not_affect_others(database: WholeDatabase) -> None:
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.add(bob)
        for provider, subject, owner in (("google", "1", ada), ("github", "2", ada), ("google", "3", bob)):
            await tx.social.link(provider, subject, owner.id, NOW_OF_SOCIAL_IDENTITIES)
        await tx.social.unlink_all(ada.id)
        assert await tx.social.user_of("google", "1") is None
        assert await tx.social.user_of("github", "2") is None
        assert await tx.social.user_of("google", "3") == bob.id


async def test_one_provider_of_a_user_is_unlinked_and_no_other(database: WholeDatabase) -> None:
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.add(bob)
        for provider, subject, owner in (
            ("google", "1", ada),
            ("google", "2", ada),
            ("github", "2", ada),
            ("google", "3", bob),
        ):
            await tx.social.link(provider, subject, owner.id, NOW_OF_SOCIAL_IDENTITIES)
        assert await tx.social.unlink(ada.id, "google")
        assert not await tx.social.unlink(ada.id, "google")
        assert [linked.provider for linked in await tx.social.of_user(ada.id)] == ["github"]
        assert await tx.social.user_of("google", "3") == bob.id


@pytest.mark.promise(
    "security, rights: Identities that were linked before the proof of an address are unlinked by it, and a changed "
    "address unlinks all"
)
async def test_proving_an_address_unlinks_identities_linked_before(database: WholeDatabase) -> None:
    ada = user(email="ada@example.com")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.social.link("google", "1", ada.id, NOW_OF_SOCIAL_IDENTITIES)
        assert not await tx.credentials.confirm_email(ada.id, "former@example.com", NOW_OF_SOCIAL_IDENTITIES)
        assert await tx.social.user_of("google", "1") == ada.id
        assert await tx.credentials.confirm_email(ada.id, ada.email_key, NOW_OF_SOCIAL_IDENTITIES)
        assert await tx.social.user_of("google", "1") is None
        await tx.social.link("google", "1", ada.id, NOW_OF_SOCIAL_IDENTITIES)
        assert await tx.credentials.confirm_email(ada.id, ada.email_key, NOW_OF_SOCIAL_IDENTITIES)
        assert await tx.social.user_of("google", "1") == ada.id


@pytest.mark.promise(
    "security, rights: Identities that were linked before the proof of an address are unlinked by it, and a changed "
    "address unlinks all"
)
async def test_a_changed_address_unlinks_all(database: WholeDatabase) -> None:
    ada, bob = user(email="ada@example.com"), user(email="bob@example.com")
    async with database.transaction(EveryTenant()) as tx:
        for number, person in enumerate((ada, bob)):
            await tx.users.add(person)
            await tx.social.link("google", str(number), person.id, NOW_OF_SOCIAL_IDENTITIES)
        await tx.users.save(replace(ada, full_name="Ada"), ada)
        assert await tx.social.user_of("google", "0") == ada.id
        await tx.users.save(replace(ada, email="new@example.com", email_key="new@example.com"), ada)
        assert await tx.social.user_of("google", "0") is None
        assert await tx.social.user_of("google", "1") == bob.id


async def test_they_go_with_the_account(database: WholeDatabase) -> None:
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.social.link("google", "1", ada.id, NOW_OF_SOCIAL_IDENTITIES)
        await tx.users.remove(ada.id)
        assert await tx.social.user_of("google", "1") is None


async def test_concurrent_links_of_one_identity_succeed_once(database: WholeDatabase) -> None:
    people = [user() for _ in range(10)]
    async with database.transaction(EveryTenant()) as tx:
        for person in people:
            await tx.users.add(person)

    async def link(n: int) -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.social.link("google", "1", people[n].id, NOW_OF_SOCIAL_IDENTITIES)

    assert sum(await asyncio.gather(*(link(n) for n in range(10)))) == 1
