"""Links of social identities: each to one user, removed with the user."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from application.ports.identity.accounts import LinkedProvider
from application.ports.whole_database import WholeDatabase
from domain.scope import EveryTenant
from tests.builders import NOW, new_id, user


async def test_an_identity_belongs_to_one_user(database: WholeDatabase) -> None:
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.add(bob)
        assert await tx.social.user_of("google", "1") is None
        assert await tx.social.link("google", "1", ada.id, NOW)
        assert not await tx.social.link("google", "1", bob.id, NOW)
        assert not await tx.social.link("google", "1", ada.id, NOW)
        assert await tx.social.link("github", "1", bob.id, NOW)
        assert await tx.social.user_of("google", "1") == ada.id
        assert await tx.social.user_of("github", "1") == bob.id


async def test_a_user_s_identities_are_listed_the_first_linked_first(database: WholeDatabase) -> None:
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.add(bob)
        await tx.social.link("google", "1", ada.id, NOW + timedelta(hours=1))
        await tx.social.link("github", "2", ada.id, NOW)
        await tx.social.link("google", "3", bob.id, NOW)
        assert await tx.social.of_user(ada.id) == [
            LinkedProvider("github", NOW),
            LinkedProvider("google", NOW + timedelta(hours=1)),
        ]
        assert await tx.social.of_user(new_id()) == []


async def test_all_of_a_user_are_unlinked_at_once_and_nobody_elses(database: WholeDatabase) -> None:
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.add(bob)
        for provider, subject, owner in (("google", "1", ada), ("github", "2", ada), ("google", "3", bob)):
            await tx.social.link(provider, subject, owner.id, NOW)
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
            await tx.social.link(provider, subject, owner.id, NOW)
        assert await tx.social.unlink(ada.id, "google")
        assert not await tx.social.unlink(ada.id, "google")
        assert [linked.provider for linked in await tx.social.of_user(ada.id)] == ["github"]
        assert await tx.social.user_of("google", "3") == bob.id


@pytest.mark.promise(
    "security, rights: Identities that were linked before the proof of an address are unlinked by it, and a changed "
    "address unlinks all"
)
async def test_the_proof_of_an_address_unlinks_what_was_linked_before_it(database: WholeDatabase) -> None:
    ada = user(email="ada@example.com")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.social.link("google", "1", ada.id, NOW)
        assert not await tx.credentials.confirm_email(ada.id, "former@example.com", NOW)
        assert await tx.social.user_of("google", "1") == ada.id
        assert await tx.credentials.confirm_email(ada.id, ada.email_key, NOW)
        assert await tx.social.user_of("google", "1") is None
        await tx.social.link("google", "1", ada.id, NOW)
        assert await tx.credentials.confirm_email(ada.id, ada.email_key, NOW)
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
            await tx.social.link("google", str(number), person.id, NOW)
        await tx.users.save(replace(ada, full_name="Ada"), ada)
        assert await tx.social.user_of("google", "0") == ada.id
        await tx.users.save(replace(ada, email="new@example.com", email_key="new@example.com"), ada)
        assert await tx.social.user_of("google", "0") is None
        assert await tx.social.user_of("google", "1") == bob.id


async def test_they_go_with_the_account(database: WholeDatabase) -> None:
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.social.link("google", "1", ada.id, NOW)
        await tx.users.remove(ada.id)
        assert await tx.social.user_of("google", "1") is None


async def test_of_many_that_link_one_identity_one_does(database: WholeDatabase) -> None:
    people = [user() for _ in range(10)]
    async with database.transaction(EveryTenant()) as tx:
        for person in people:
            await tx.users.add(person)

    async def link(n: int) -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.social.link("google", "1", people[n].id, NOW)

    assert sum(await asyncio.gather(*(link(n) for n in range(10)))) == 1
