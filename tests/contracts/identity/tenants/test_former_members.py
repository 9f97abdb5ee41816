"""Former members: known by their accounts, and by digests of their mailboxes, which outlive the accounts.

Digests of addresses: of one key, one tenant and one mailbox.
"""

import hashlib
from datetime import timedelta

import pytest
import pytest_asyncio

from adapters.joserfc.address_digests import KeyedAddressDigests
from application.identity.joining.departures import Departures
from application.ports.identity.users import AddressMark
from application.ports.whole_database import WholeDatabase
from domain.identity.users import AccountState, Tenant, mailbox_key
from domain.scope import EveryTenant
from tests.builders import NOW, new_id, tenant, user

DIGEST, OTHER_DIGEST = b"d" * 32, b"o" * 32


@pytest_asyncio.fixture
async def homes(database: WholeDatabase) -> tuple[Tenant, Tenant]:
    made = (tenant(), tenant())
    async with database.transaction(EveryTenant()) as tx:
        for home in made:
            await tx.tenants.add(home)
    return made


@pytest.mark.promise(
    "tenants, domains and requests to join: whoever was removed or left does not come back by the domain"
)
async def test_a_former_member_is_recognised_while_the_account_exists(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, other = homes
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        assert not await tx.memberships.remove(ada.id, home.id)
        assert not await tx.former_members.is_former(home.id, ada.id, [])
        for _ in range(2):
            await tx.memberships.save(ada.id, home.id, [], None, NOW)
            assert await tx.memberships.remove(ada.id, home.id)
            assert await tx.former_members.is_former(home.id, ada.id, [])
        assert not await tx.former_members.is_former(other.id, ada.id, [])
        await tx.memberships.save(ada.id, other.id, [], None, NOW)
        await tx.memberships.remove(ada.id, other.id)
        assert await tx.former_members.tenants_of(ada.id) == sorted([home.id, other.id])
        assert await tx.former_members.tenants_of(new_id()) == []
        await tx.users.remove(ada.id)
        assert not await tx.former_members.is_former(home.id, ada.id, [])
        assert await tx.former_members.tenants_of(ada.id) == []


@pytest.mark.promise(
    "tenants, domains and requests to join: a new account of the same mailbox does not come back by the domain, "
    "whoever ended the old one"
)
async def test_a_mailbox_is_known_whatever_becomes_of_the_account(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, other = homes
    marks = [AddressMark(home.id, DIGEST), AddressMark(other.id, OTHER_DIGEST)]
    async with database.transaction(EveryTenant()) as tx:
        await tx.former_members.mark(marks, NOW)
        await tx.former_members.mark(marks[:1], NOW + timedelta(days=1))
        for digests in ([DIGEST], [OTHER_DIGEST, DIGEST]):
            assert await tx.former_members.is_former(home.id, new_id(), digests)
            assert await tx.former_members.is_former(other.id, new_id(), digests) == (OTHER_DIGEST in digests)
        assert not await tx.former_members.is_former(home.id, new_id(), [b"x" * 32])


async def test_a_readmitted_member_is_not_a_former_member(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        for home in homes:
            await tx.memberships.save(ada.id, home.id, [], None, NOW)
            await tx.memberships.remove(ada.id, home.id)
            await tx.former_members.mark([AddressMark(home.id, DIGEST), AddressMark(home.id, OTHER_DIGEST)], NOW)
        await tx.former_members.readmit(homes[0].id, ada.id, [DIGEST])
        here, there = [
            [await tx.former_members.is_former(home.id, *who) for who in ((ada.id, []), (new_id(), [DIGEST]))]
            for home in homes
        ]
        assert (here, there) == ([False, False], [True, True])
        assert await tx.former_members.is_former(homes[0].id, new_id(), [OTHER_DIGEST])


ADA, FIRST, SECOND = "ada@acme.example", "first " * 8, "second " * 8


@pytest.mark.promise(
    "tenants, domains and requests to join: what is kept for that is no address, and goes when somebody lets the "
    "person in"
)
def test_a_digest_is_of_one_tenant_one_mailbox_and_one_key() -> None:
    here, there = new_id(), new_id()
    digests = KeyedAddressDigests(FIRST)
    found = [*digests.of(here, ADA), *digests.of(there, ADA), *digests.of(here, "bob@acme.example")]
    assert len({*found, *KeyedAddressDigests(SECOND).of(here, ADA)}) == 4
    assert {len(digest) for digest in found} == {32}
    assert digests.of(here, ADA) == KeyedAddressDigests(FIRST).of(here, ADA)
    # Whoever reads the database and guesses the address finds nothing without the key.
    assert hashlib.sha256(here.bytes + ADA.encode()).digest() not in found


def test_digests_made_with_the_previous_secret_are_recognised() -> None:
    here = new_id()
    (before,) = KeyedAddressDigests(FIRST).of(here, ADA)
    stored, other = KeyedAddressDigests(SECOND, FIRST).of(here, ADA)
    assert (stored, other) == (KeyedAddressDigests(SECOND).of(here, ADA)[0], before)


@pytest.mark.promise(
    "tenants, domains and requests to join: a new account of the same mailbox does not come back by the domain, "
    "whoever ended the old one"
)
def test_a_plus_suffix_does_not_make_another_mailbox() -> None:
    for key in (ADA, "ada+news@acme.example", "ada+a+b@acme.example", "ada+@acme.example"):
        assert mailbox_key(key) == ADA
    assert mailbox_key("+ada@acme.example") == "+ada@acme.example"
    assert mailbox_key('"a@b+c"@acme.example') == '"a@b@acme.example'


def test_marks_are_of_every_tenant_that_is_left_and_found_by_the_digests() -> None:
    departures = Departures(KeyedAddressDigests(SECOND, FIRST))
    tenants = [new_id(), new_id()]
    ada = user(email_key=ADA)
    marks = departures.marks(ada, [*tenants, *tenants], new_id())
    assert [mark.tenant_id for mark in marks] == sorted(tenants)
    assert all(mark.digest == departures.digests("ada+new@acme.example", mark.tenant_id)[0] for mark in marks)
    state = AccountState(user=ada, memberships=(), roles=(), token_versions={})
    assert departures.marks_of_account(state, tenants, new_id()) == marks


def test_an_unproved_address_is_marked_only_when_another_user_ends_the_account() -> None:
    departures, home = Departures(KeyedAddressDigests(FIRST)), new_id()
    unproved, proved = user(email_proved=False), user(email_proved=True)
    assert departures.marks(unproved, [home], unproved.id) == []
    assert len(departures.marks(unproved, [home], new_id())) == 1
    assert len(departures.marks(proved, [home], proved.id)) == 1
