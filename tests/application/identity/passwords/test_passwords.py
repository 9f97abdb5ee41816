"""Passwords in bodies: plain, or encrypted, fresh and used once; refusals do not tell the fault.

Refusals take the same time for imported hashes and others, as long as any imported hash is stored.

Response times of a password reset do not tell whether an address has an account.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from time import perf_counter

import pytest
from joserfc import jwe
from joserfc.jwk import KeySet
from msgspec import UNSET, UnsetType, json

from adapters.argon2 import Argon2ForeignHashes
from adapters.joserfc import JoserfcEncryptedPasswords
from adapters.joserfc.link_secrets import DerivedLinkSecrets
from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.cache import MemoryCache
from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.identity.passwords import MemoryPasswords
from adapters.postgres.database import PostgresDatabase
from application.identity.account.accounts import Accounts, EmailForm, ResetForm
from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.forms import LoginForm, LoginResult
from application.identity.passwords.constant_time_passwords import BUDGET, ConstantTimePasswords
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.identity.passwords.password_rules import PasswordRules
from application.identity.self_service.email_changes import EmailChangeRequests
from application.ports.runtime import Passwords
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import InvalidCredentials, ValidationError
from domain.lockout import Lockout
from domain.scope import Client, EveryTenant
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService, open_service
from tests.builders import NOW, user
from tests.contracts.passwords.test_foreign_hashes import OF_OTHERS
from tests.waiting import HUNG_AFTER


@pytest.fixture
async def service(registry: Registry) -> InMemoryService:
    opened = await open_service(registry)
    await opened.holder()
    return opened


def sealed(service: InMemoryService, password: str = PASSWORD, jti: str = "1", age: timedelta = timedelta()) -> str:
    """A password encrypted as a client does, with the published keys."""
    now = service.clock.now()
    published = json.decode(service.services.keyring.published(now))
    key = next(key for key in KeySet.import_key_set(published).keys if key.get("use") == "enc")
    said = {"password": password, "iat": int((now - age).timestamp()), "jti": jti}
    header = {"alg": "RSA-OAEP-256", "enc": "A256GCM", "kid": key.kid}
    registry = jwe.JWERegistry(algorithms=["RSA-OAEP-256", "A256GCM"])
    return jwe.encrypt_compact(header, json.encode(said), key, registry=registry)


async def send(
    service: InMemoryService, password: str, is_encrypted: bool | UnsetType = UNSET, email: str = EMAIL
) -> LoginResult:
    form = LoginForm(email=email, password=password, is_password_encrypted=is_encrypted)
    return await service.services.sign_in.login(form, HERE)


def refused() -> "pytest.RaisesExc[ValidationError]":
    return pytest.raises(ValidationError)


@pytest.mark.parametrize("flag", [True, UNSET])
async def test_an_encrypted_password_logs_in(service: InMemoryService, flag: bool | UnsetType) -> None:
    assert (await send(service, sealed(service), flag)).token
    with pytest.raises(InvalidCredentials):
        await send(service, sealed(service, "a wrong password", jti="2"), flag)


@pytest.mark.promise("identity, fields: isPasswordEncrypted: true, false, left out")
@pytest.mark.parametrize("flag", [False, UNSET])
async def test_a_plain_password_is_accepted_when_it_is_not_flagged_as_encrypted(
    service: InMemoryService, flag: bool | UnsetType
) -> None:
    assert (await send(service, PASSWORD, flag)).token


@pytest.mark.promise("identity, fields: isPasswordEncrypted: true, false, left out")
async def test_with_the_flag_nothing_but_an_encrypted_one_is_looked_at(service: InMemoryService) -> None:
    hashes = Counting(service.adapters.passwords)
    watched = watching(service, hashes)
    for password in (
        PASSWORD,
        "",
        "a.b.c.d.e",
        "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA",
        "5f4dcc3b5aa765d61d83",
    ):
        messages = set()
        for email in (EMAIL, "nobody@example.com", "no address"):
            with refused() as error:
                await send(watched, password, True, email)
            messages.add(str([(detail.field, detail.message) for detail in error.value.fields]))
        (said,) = messages
        assert "password" in said
        assert "jwks.json" in said
    assert hashes.computed == 0


async def test_with_the_flag_off_a_ciphertext_is_only_a_wrong_password(service: InMemoryService) -> None:
    with pytest.raises(InvalidCredentials):
        await send(service, sealed(service), False)


@pytest.mark.promise("identity, encrypted passwords: STRICT_PASSWORD_ENCRYPTION")
async def test_strictly_what_says_nothing_must_be_encrypted(registry: Registry) -> None:
    service = await open_service(registry, {"TENANTRY_STRICT_PASSWORD_ENCRYPTION": "true"})
    await service.holder()
    with refused():
        await send(service, PASSWORD)
    assert (await send(service, sealed(service))).token
    assert (await send(service, PASSWORD, False)).token


@pytest.mark.promise("identity, encrypted passwords: an encrypted password is recent and accepted once")
@pytest.mark.parametrize("flag", [True, UNSET])
async def test_an_encrypted_password_works_once(service: InMemoryService, flag: bool | UnsetType) -> None:
    text = sealed(service)
    await send(service, text, flag)
    for again in (text, sealed(service)):
        with refused() as error:
            await send(service, again, flag)
        assert [detail.field for detail in error.value.fields] == ["password"]
    assert (await send(service, sealed(service, jti="another"), flag)).token


@pytest.mark.parametrize("jti", ["with \0 and ü", "x" * 900])
async def test_the_senders_id_may_be_any_text(service: InMemoryService, jti: str) -> None:
    await send(service, sealed(service, jti=jti), True)
    with refused():
        await send(service, sealed(service, jti=jti), True)


@pytest.mark.promise("identity, encrypted passwords: an encrypted password is recent and accepted once")
@pytest.mark.parametrize(
    ("age", "is_taken"),
    [(120, True), (121, False), (-5, True), (-6, False), (10**6, False), (-(10**6), False)],
)
async def test_an_encrypted_password_is_fresh(service: InMemoryService, age: int, is_taken: bool) -> None:
    text = sealed(service, age=timedelta(seconds=age))
    if is_taken:
        assert (await send(service, text, True)).token
    else:
        with refused():
            await send(service, text, True)


async def test_a_used_password_message_is_refused_for_as_long_as_it_is_fresh(service: InMemoryService) -> None:
    text = sealed(service, age=timedelta(seconds=-5))
    await send(service, text, True)
    for _ in range(5):
        service.clock.move(timedelta(seconds=25))
        with refused():
            await send(service, text, True)


async def test_a_password_encrypted_before_a_key_rotation_still_opens(service: InMemoryService) -> None:
    before = sealed(service)
    await service.services.signing_keys.rotate()
    service.clock.move(timedelta(seconds=61))
    assert (await send(service, before, True)).token
    assert (await send(service, sealed(service, jti="2"), True)).token


class Counting:
    """Passwords that count the hashes they compute."""

    def __init__(self, passwords: Passwords) -> None:
        self.passwords = passwords
        self.computed = 0

    async def hash(self, password: str) -> str:
        self.computed += 1
        return await self.passwords.hash(password)

    async def verify(self, password: str, stored: str | None) -> bool:
        self.computed += 1
        return await self.passwords.verify(password, stored)

    def is_outdated(self, stored: str) -> bool:
        return self.passwords.is_outdated(stored)


def watching(service: InMemoryService, hashes: Counting) -> InMemoryService:
    authentication = service.services.sign_in.authentication
    assert isinstance(authentication, PasswordAuthentication)
    sign_in = replace(service.services.sign_in, authentication=replace(authentication, passwords=hashes))
    return InMemoryService(replace(service.services, sign_in=sign_in), service.adapters)


QUICK = timedelta(milliseconds=150)
ENDLESS = timedelta(hours=1)


@pytest.fixture
def passwords(database: WholeDatabase) -> ConstantTimePasswords:
    return ConstantTimePasswords(MemoryPasswords(), database, QUICK)


async def took(passwords: ConstantTimePasswords, password: str, stored: str | None) -> float:
    began = time.monotonic()
    await passwords.verify(password, stored)
    return time.monotonic() - began


async def test_without_imported_hashes_a_refusal_is_not_delayed(database: WholeDatabase) -> None:
    assert await took(ConstantTimePasswords(MemoryPasswords(), database, ENDLESS), "wrong", None) < HUNG_AFTER


@pytest.mark.promise("identity, passwords: an imported hash does not show by time")
async def test_with_one_of_them_every_refusal_comes_at_the_same_time(
    passwords: ConstantTimePasswords, database: WholeDatabase
) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(user(password_hash=Argon2ForeignHashes().accepted(OF_OTHERS["bcrypt"])))
    own = await passwords.hash("right")
    times = [await took(passwords, "wrong", stored) for stored in (None, "no hash", own)]
    assert all(QUICK.total_seconds() <= seconds < HUNG_AFTER for seconds in times), times
    assert await took(ConstantTimePasswords(MemoryPasswords(), database, ENDLESS), "right", own) < HUNG_AFTER
    assert not passwords.is_outdated(own)


def test_the_budget_is_longer_than_the_dearest_hash_that_is_taken() -> None:
    from adapters.argon2.foreign import LONGEST_SECONDS

    assert BUDGET.total_seconds() >= LONGEST_SECONDS * 2


SAMPLES = 200
HERE_OF_RESET_TIMING = Client(address="192.0.2.1", network="192.0.2.1")


@pytest.fixture
async def accounts(postgres: PostgresDatabase) -> Accounts:
    async with postgres.transaction(EveryTenant()) as tx:
        for number in range(SAMPLES):
            await tx.users.add(user(email=f"known{number}@example.com"))
    clock, ids = MovableClock(NOW), CountingIds()
    revocations, cache, secrets = MemoryAdmissions(clock), MemoryCache(clock), DerivedLinkSecrets("a secret for links")
    return Accounts(
        database=postgres,
        passwords=MemoryPasswords(),
        password_reader=PasswordReader(
            postgres, JoserfcEncryptedPasswords("a secret key for tests, long enough"), clock, strict=False
        ),
        password_rules=PasswordRules((), None),
        revocations=revocations,
        cache=cache,
        clock=clock,
        ids=ids,
        lockout=Lockout(5, clock.now() - clock.now()),
        changes=EmailChangeRequests(postgres, revocations, cache, secrets, clock, ids),
    )


async def took_of_reset_timing(asked: Awaitable[object]) -> float:
    began = perf_counter()
    await asked
    return perf_counter() - began


async def compared(ask: Callable[[str], Awaitable[object]]) -> float:
    """Share of the pairs in which the known address took longer; 0.5 when the two cannot be told apart.

    Both addresses are asked one right after the other, first in turn, so that other load affects both. By chance the
    share leaves 0.35 to 0.65 once in fifty thousand runs.
    """
    slower = 0
    for number in range(20):
        await ask(f"warm{number}@example.com")
    for number in range(SAMPLES):
        pair = [f"known{number}@example.com", f"nobody{number}@example.com"]
        times = {email: await took_of_reset_timing(ask(email)) for email in (pair if number % 2 else reversed(pair))}
        slower += times[pair[0]] > times[pair[1]]
    return slower / SAMPLES


@pytest.mark.promise("identity, accounts and mail: Reset: the same response in the same time for every address")
async def test_requesting_a_reset_lasts_as_long_for_an_unknown_address(accounts: Accounts) -> None:
    chance = await compared(lambda email: accounts.request_link("reset", EmailForm(email=email)))
    assert 0.35 < chance < 0.65, chance


async def test_a_wrong_token_lasts_as_long_for_an_unknown_address(accounts: Accounts) -> None:
    async def reset(email: str) -> None:
        with pytest.raises(ValidationError):
            await accounts.reset_password(
                ResetForm(email=email, token="wrong", new_password="a new password"), HERE_OF_RESET_TIMING
            )

    chance = await compared(reset)
    assert 0.35 < chance < 0.65, chance


async def test_the_timing_comparison_detects_additional_statements(accounts: Accounts) -> None:
    """Proof that the comparison detects a difference: the work that the relay does would show."""

    async def work_before_answering(email: str) -> None:
        await accounts.request_link("reset", EmailForm(email=email))
        async with accounts.database.transaction(EveryTenant()) as tx:
            if email.startswith("known"):
                state = await tx.users.state_by_email(email)
                assert state is not None
                await tx.one_time_tokens.forget(state.user.id, ["reset"], NOW)

    assert await compared(work_before_answering) > 0.65
