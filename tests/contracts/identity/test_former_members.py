"""Former members: known by their accounts, and by digests of their mailboxes, which outlive the accounts."""

from datetime import timedelta

import pytest
import pytest_asyncio

from application.ports.identity.users import AddressMark
from application.ports.whole_database import WholeDatabase
from domain.identity.users import Tenant
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
async def test_an_account_is_known_while_it_is_there(database: WholeDatabase, homes: tuple[Tenant, Tenant]) -> None:
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


async def test_who_is_let_in_again_is_known_no_more(database: WholeDatabase, homes: tuple[Tenant, Tenant]) -> None:
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
