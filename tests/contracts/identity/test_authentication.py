"""Authentication by password, and its records."""

from datetime import timedelta

import pytest

from adapters.argon2 import Argon2Passwords, Cost
from adapters.joserfc import JoserfcEncryptedPasswords
from adapters.memory.clock import MovableClock
from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.forms import LoginForm
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.ports.whole_database import WholeDatabase
from domain.errors import AccountLocked, InvalidCredentials, ValidationError
from domain.limits import Lockout
from domain.scope import Client, EveryTenant
from tests.builders import NOW, user

HERE = Client(address="192.0.2.1", network="192.0.2.1")
CHEAP, DEAR = Cost(memory_kib=8, passes=1), Cost(memory_kib=16, passes=1)
EMAIL, PASSWORD = "ada@example.com", "ﬁrst password ½"


@pytest.fixture
def passwords() -> Argon2Passwords:
    return Argon2Passwords(DEAR, cores=1)


@pytest.fixture
def authentication(database: WholeDatabase, passwords: Argon2Passwords, clock: MovableClock) -> PasswordAuthentication:
    reader = PasswordReader(database, JoserfcEncryptedPasswords("a secret"), clock, strict=False)
    return PasswordAuthentication(database, passwords, reader, clock, Lockout(3, timedelta(minutes=15)))


def form(email: str, password: str) -> LoginForm:
    return LoginForm(email=email, password=password, is_password_encrypted=False)


async def keep(database: WholeDatabase, password_hash: str | None) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(user(email=EMAIL, password_hash=password_hash))


async def test_who_knows_the_password_is_proven_and_its_hash_stays(
    authentication: PasswordAuthentication, database: WholeDatabase, passwords: Argon2Passwords
) -> None:
    await keep(database, await passwords.hash("first password 1⁄2"))
    for typed in (PASSWORD, "first password ½"):
        login = await authentication.by_password(form(" ADA@Example.com", typed), HERE)
        assert login.state.user.email == EMAIL
        assert login.by_password
        assert login.renewed is None


@pytest.mark.promise("identity, passwords: Argon2id at OWASP's cost, and a weaker hash renewed")
async def test_a_weaker_hash_is_renewed(
    authentication: PasswordAuthentication, database: WholeDatabase, passwords: Argon2Passwords
) -> None:
    weaker = await Argon2Passwords(CHEAP, cores=1).hash("a password")
    await keep(database, weaker)
    login = await authentication.by_password(form(EMAIL, "a password"), HERE)
    assert login.renewed is not None
    assert login.renewed.seen == weaker
    assert not passwords.is_outdated(login.renewed.hash)
    assert await passwords.verify("a password", login.renewed.hash)


@pytest.mark.parametrize("email", [EMAIL, "nobody@example.com", "no address"])
async def test_unknown_and_wrong_are_alike_and_lock_alike(
    authentication: PasswordAuthentication, database: WholeDatabase, email: str
) -> None:
    await keep(database, None)
    for _ in range(3):
        with pytest.raises(InvalidCredentials):
            await authentication.by_password(form(email, "wrong"), HERE)
    with pytest.raises(AccountLocked):
        await authentication.by_password(form(email, "wrong"), HERE)


async def test_ones_own_password_is_verified_and_guesses_of_it_lock_as_at_login(
    authentication: PasswordAuthentication, database: WholeDatabase, passwords: Argon2Passwords
) -> None:
    await keep(database, await passwords.hash("first password 1⁄2"))
    ada = (await authentication.by_password(form(EMAIL, PASSWORD), HERE)).state.user
    async with database.autocommit(EveryTenant()) as tx:
        await tx.attempts.forgive(ada.email_key, HERE.network, NOW)
    await authentication.ensure_own(ada, PASSWORD, False, HERE)
    for _ in range(2):
        with pytest.raises(ValidationError):
            await authentication.ensure_own(ada, "wrong", False, HERE)
    with pytest.raises(AccountLocked):
        await authentication.ensure_own(ada, PASSWORD, False, HERE)


async def test_an_account_without_a_password_has_none_to_show(authentication: PasswordAuthentication) -> None:
    with pytest.raises(ValidationError):
        await authentication.ensure_own(user(), "", False, HERE)
