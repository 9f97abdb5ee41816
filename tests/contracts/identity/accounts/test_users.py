"""Users: one account per address, and its state in one snapshot.

Imported hashes, recognised by their prefix until they are replaced.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from application.ports.identity.passwords import FOREIGN
from application.ports.identity.users import HeldRole, Listing
from application.ports.whole_database import Transaction, WholeDatabase
from domain.errors import Conflict
from domain.identity.logins import Login, RenewedHash
from domain.identity.users import SUPER_ADMIN, User
from domain.scope import EveryTenant, OneTenant, grants_subject, role_subject, tenant_subject, user_subject
from tests.builders import NOW, new_id, role, session, tenant, user
from tests.contracts.identity.login.logins import begin


async def join(tx: Transaction, member: User, tenant_id: UUID, role_ids: Sequence[UUID] = ()) -> None:
    await tx.memberships.save(member.id, tenant_id, role_ids, None, NOW)


async def test_an_account_state_contains_the_whole_account(database: WholeDatabase) -> None:
    ada, here = user(password_hash="hash", last_login_at=NOW), tenant()
    member, system = role(here.id, permissions=("read:products",)), role(None, description="for all")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.tenants.add(here)
        await tx.roles.add(member)
        await tx.roles.add(system)
        await join(tx, ada, here.id, [member.id])
        await tx.memberships.set_system_roles(ada.id, [system.id])
        subjects = [user_subject(ada.id), grants_subject(ada.id), tenant_subject(here.id), role_subject(member.id)]
        raised = await tx.token_versions.bump([*subjects, role_subject(new_id())])
        state = await tx.users.state(ada.id)
        assert state == await tx.users.state_by_email(ada.email_key)
    assert state is not None
    assert state.user == ada
    assert state.roles == (system,)
    (membership,) = state.memberships
    assert (membership.tenant_id, membership.tenant_name, membership.tenant_is_active) == (here.id, here.name, True)
    assert membership.tenant_identifier == here.identifier
    assert (membership.is_default, membership.joined_at, membership.roles) == (True, NOW, (member,))
    assert {subject: state.token_versions[subject] for subject in subjects} == {
        subject: raised[subject] for subject in subjects
    }


async def test_an_unknown_user_has_no_account_state(database: WholeDatabase) -> None:
    async with database.read_only(EveryTenant()) as read:
        assert await read.users.state(new_id()) is None
        assert await read.users.state_by_email("nobody@example.com") is None


async def test_memberships_of_deleted_tenants_do_not_count(database: WholeDatabase) -> None:
    ada, gone = user(), tenant()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.tenants.add(gone)
        await join(tx, ada, gone.id)
        await tx.tenants.remove(gone.id, NOW)
        state = await tx.users.state(ada.id)
    assert state is not None
    assert state.memberships == ()


@pytest.mark.promise(
    "identity, passwords: Addresses compare without case, trimmed, NFC, the domain as IDNA; mail goes to the stored one"
)
async def test_an_address_has_one_account(database: WholeDatabase) -> None:
    ada, bob = user(email="ada@example.com"), user(email="bob@example.com")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.add(bob)
    with pytest.raises(Conflict) as error:
        async with database.transaction(EveryTenant()) as tx:
            await tx.users.add(user(email="Ada@example.com", email_key="ada@example.com"))
    assert [detail.field for detail in error.value.fields] == ["email"]
    with pytest.raises(Conflict):
        async with database.transaction(EveryTenant()) as tx:
            await tx.users.save(user(id=bob.id, email="ada@example.com"), bob)


async def test_saving_replaces_the_account(database: WholeDatabase) -> None:
    ada = user()
    changed = user(id=ada.id, email="new@example.com", is_active=False, phone_number="1", must_change_password=True)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.users.save(changed, ada)
        state = await tx.users.state(ada.id)
    assert state is not None
    assert state.user == changed


async def test_a_login_is_noted(database: WholeDatabase) -> None:
    ada = user(password_hash="old")
    later = NOW + timedelta(minutes=1)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        cases = (
            (None, "old"),
            (RenewedHash("other", "stale"), "old"),
            (RenewedHash("old", "new"), "new"),
            (RenewedHash("old", "stale"), "new"),
        )
        for renewed, expected in cases:
            state = await tx.users.state(ada.id)
            assert state is not None
            assert await begin(
                tx, session(ada.id, created_at=later), Login(state=state, methods=(), by_password=True, renewed=renewed)
            )
            state = await tx.users.state(ada.id)
            assert state is not None
            assert (state.user.password_hash, state.user.last_login_at) == (expected, later)


@pytest.mark.promise("identity, passwords: a login comes too late for a removed account or another password")
async def test_a_login_comes_too_late_for_another_password_or_a_removed_account(database: WholeDatabase) -> None:
    ada = user(password_hash="old", password_set_at=NOW)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        state = await tx.users.state(ada.id)
        assert state is not None
        changed = replace(ada, password_hash="new", password_set_at=NOW + timedelta(seconds=1))
        await tx.users.save(changed, ada)
        assert not await begin(tx, session(ada.id), Login(state=state, methods=(), by_password=True))
        assert await begin(tx, session(ada.id), Login(state=state, methods=(), by_password=False))
        await tx.users.save(replace(changed, email_proved=True), changed)
        assert not await begin(tx, session(ada.id), Login(state=state, methods=(), by_password=False))
        await tx.users.remove(ada.id)
        assert not await begin(tx, session(ada.id), Login(state=state, methods=(), by_password=False))


async def test_removing_an_account_removes_its_sessions_and_memberships(database: WholeDatabase) -> None:
    ada, here = user(), tenant()
    held, own = role(here.id), session(ada.id)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.tenants.add(here)
        await tx.roles.add(held)
        await join(tx, ada, here.id, [held.id])
        assert await begin(tx, own)
        await tx.users.remove(ada.id)
        assert await tx.users.state(ada.id) is None
        assert await tx.sessions.by_id(own.id) is None
        await tx.roles.remove(held.id)


async def listed(database: WholeDatabase, **asked: Any) -> list[str]:
    async with database.read_only(EveryTenant()) as read:
        page, total = await read.users.page(Listing(**asked))
    assert asked.keys() & {"page", "page_size"} or total == len(page)
    return [item.user.full_name for item in page]


@pytest.mark.promise("GET /api/users")
async def test_the_list_filters_searches_and_sorts(database: WholeDatabase) -> None:
    here, there = tenant(), tenant()
    editor = role(here.id, name="Editor")
    ada = user(full_name="Ada Lovelace", email="ada@example.com", last_login_at=NOW)
    bob = user(full_name="Bob 100% Äther", email="bob@EXAMPLE.org", is_active=False, created_at=NOW + timedelta(1))
    cleo = user(full_name="Cleo", email="cleo@example.com", last_login_at=NOW - timedelta(1))
    async with database.transaction(EveryTenant()) as tx:
        for new_tenant in (here, there):
            await tx.tenants.add(new_tenant)
        await tx.roles.add(editor)
        for account in (cleo, ada, bob):
            await tx.users.add(account)
        await join(tx, ada, here.id, [editor.id])
        await join(tx, bob, here.id)
        await join(tx, cleo, there.id)
    assert await listed(database) == ["Bob 100% Äther", "Ada Lovelace", "Cleo"]
    assert await listed(database, tenant_id=here.id) == ["Bob 100% Äther", "Ada Lovelace"]
    assert await listed(database, tenant_id=here.id, role="Editor") == ["Ada Lovelace"]
    assert await listed(database, tenant_id=there.id, role="Editor") == []
    assert await listed(database, is_active=False) == ["Bob 100% Äther"]
    assert await listed(database, search="LOVE ada@") == ["Ada Lovelace"]
    assert await listed(database, search="äTHER") == ["Bob 100% Äther"]
    assert await listed(database, search="100%") == ["Bob 100% Äther"]
    assert await listed(database, search="o_b") == []
    assert await listed(database, search="example.ORG bob") == ["Bob 100% Äther"]
    assert await listed(database, search="b o 1 0 Ä 0% org") == ["Bob 100% Äther"]
    assert await listed(database, search="b o 1 0 Ä 0_ org") == []
    assert await listed(database, ids=(ada.id, cleo.id)) == ["Ada Lovelace", "Cleo"]
    assert await listed(database, ids=(ada.id, cleo.id, here.id), tenant_id=here.id) == ["Ada Lovelace"]
    assert await listed(database, ids=(ada.id,), is_active=False) == []
    assert await listed(database, ids=()) == []
    assert await listed(database, sort_by="last_login_at") == ["Bob 100% Äther", "Ada Lovelace", "Cleo"]
    assert await listed(database, sort_by="full_name", descending=False) == ["Ada Lovelace", "Bob 100% Äther", "Cleo"]


async def test_roles_in_tenants_are_sorted_by_tenant_and_role_name(database: WholeDatabase) -> None:
    ada, bob = user(), user()
    first, second, gone = (tenant(identifier=f"{name}-{new_id().hex}") for name in ("a", "b", "c"))
    both = [role(tenant.id, name=name) for tenant in (first, second, gone) for name in ("Clerk", "Boss")]
    async with database.transaction(EveryTenant()) as tx:
        for made in (first, second, gone):
            await tx.tenants.add(made)
        for held in both:
            await tx.roles.add(held)
        for member in (ada, bob):
            await tx.users.add(member)
            for made in (first, second, gone):
                await join(tx, member, made.id, [held.id for held in both if held.tenant_id == made.id])
        await join(tx, bob, second.id)
        await tx.memberships.set_system_roles(ada.id, [])
        await tx.tenants.remove(gone.id, NOW)
    async with database.read_only(EveryTenant()) as read:
        found = await read.users.roles_in_tenants([bob.id])
        assert found == [HeldRole(bob.id, first.identifier, name) for name in ("Boss", "Clerk")]
        assert len(await read.users.roles_in_tenants([ada.id, bob.id])) == 6
        assert await read.users.roles_in_tenants([]) == []


@pytest.mark.promise("identity, administration: the list of users over 100,000")
async def test_pages_partition_the_list(database: WholeDatabase) -> None:
    accounts = [user(full_name=f"User {n}") for n in range(5)]
    async with database.transaction(EveryTenant()) as tx:
        for account in accounts:
            await tx.users.add(account)
    async with database.read_only(EveryTenant()) as read:
        pages = [await read.users.page(Listing(page=n, page_size=2)) for n in (1, 2, 3, 4)]
    assert [total for _, total in pages] == [5, 5, 5, 5]
    assert [item.user.id for page, _ in pages for item in page] == [account.id for account in accounts]


async def test_the_list_shows_the_roles_held_where_it_lists(database: WholeDatabase) -> None:
    ada, here = user(), tenant()
    b, a, system = role(here.id, name="B"), role(here.id, name="A"), role(None, name=SUPER_ADMIN)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.tenants.add(here)
        for new_role in (b, a, system):
            await tx.roles.add(new_role)
        await join(tx, ada, here.id, [b.id, a.id])
        await tx.memberships.set_system_roles(ada.id, [system.id])
        for tenant_id, expected in ((here.id, ("A", "B")), (None, (SUPER_ADMIN,))):
            page, _ = await tx.users.page(Listing(tenant_id=tenant_id))
            assert [item.roles for item in page] == [expected]


async def test_accounts_are_the_same_from_wherever_they_are_seen(database: WholeDatabase) -> None:
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
    async with database.read_only(OneTenant(new_id())) as read:
        assert await read.users.state(ada.id) is not None


async def test_an_imported_hash_is_counted_until_it_is_renewed(database: WholeDatabase) -> None:
    ada, bob, cleo = user(password_hash="$argon2id$own"), user(password_hash=None), user(password_hash=f"{FOREIGN}old")
    async with database.transaction(EveryTenant()) as tx:
        for person in (ada, bob):
            await tx.users.add(person)
        assert not await tx.imported.any_left()
        await tx.users.add(cleo)
        assert await tx.imported.any_left()
        state = await tx.users.state(cleo.id)
        assert state is not None
        renewed = RenewedHash(f"{FOREIGN}old", "$argon2id$new")
        assert await begin(tx, session(cleo.id), Login(state=state, methods=(), by_password=True, renewed=renewed))
        assert not await tx.imported.any_left()
