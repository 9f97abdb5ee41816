"""Invitations: one pending for an address and tenant, ended once, found by their link and by their address."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from adapters.postgres.database import PostgresDatabase
from application.ports.database import Mail
from application.ports.identity.invitations import InvitationListing, InvitationUsage, NewInvitation, Offer
from application.ports.whole_database import WholeDatabase
from domain.identity.invitations import DAY, Invitation, InvitationStatus
from domain.identity.users import Branding, Tenant, TenantSettings, User
from domain.scope import AuditEvent, EveryTenant
from tests.builders import NOW, new_id, role, service_account, tenant, user

WEEK = timedelta(days=7)
TICK = timedelta(microseconds=1)
EVE = "eve@example.com"


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    person = user(full_name="Ada Byron")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(person)
    return person


@pytest.fixture
async def acme(database: WholeDatabase) -> Tenant:
    made = tenant(name="Acme")
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(made)
    return made


def invitation(acme: Tenant, ada: User, email: str = EVE, **more: Any) -> Invitation:
    invitation_id = new_id()
    values: dict[str, Any] = {
        "tenant_id": acme.id,
        "id": invitation_id,
        "email": email,
        "email_key": email.lower(),
        "role_ids": (),
    }
    values |= {"invited_by": ada.id, "created_at": NOW, "expires_at": NOW + WEEK, "hash": f"hash {invitation_id}"}
    return Invitation(**{**values, "mailed_at": (NOW,), **more})


def sent(new: Invitation, *, has_mail: bool = True) -> NewInvitation:
    mail = Mail(id=new_id(), kind="invitation", recipient=new.email_key, at=new.created_at) if has_mail else None
    line = AuditEvent(actor_id=new.invited_by, action="invitation.sent", target_id=new.id, occurred_at=new.created_at)
    return NewInvitation(invitation=new, mail=mail, line=line)


async def add(database: WholeDatabase, *invitations: Invitation) -> int:
    async with database.transaction(EveryTenant()) as tx:
        return await tx.invitations.add([sent(new) for new in invitations])


async def test_invitations_are_stored_with_their_mails(database: WholeDatabase, acme: Tenant, ada: User) -> None:
    given = role(acme.id)
    first = invitation(acme, ada, "Eve@Example.com", role_ids=(given.id, new_id()))
    second = invitation(acme, ada, "bob@example.com", mailed_at=())
    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.add(given)
        new = sent(first)
        assert await tx.invitations.add([new, sent(second, has_mail=False)]) == 2
        assert await tx.invitations.lock(acme.id, first.id) == first
        assert await tx.invitations.lock(acme.id, second.id) == second
        assert await tx.invitations.lock(new_id(), first.id) is None
        due = await tx.outbox.take(10, NOW, timedelta(minutes=2))
    assert [taken.mail for taken in due] == [new.mail]


async def test_an_address_has_one_pending_invitation_of_a_tenant(
    database: WholeDatabase, acme: Tenant, ada: User
) -> None:
    other = tenant()
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(other)
    assert await add(database, invitation(acme, ada)) == 1
    assert await add(database, invitation(acme, ada), invitation(acme, ada, "bob@example.com")) == 1
    assert await add(database, invitation(other, ada)) == 1


@pytest.mark.promise("tenants, invitations: Twenty acceptances at once make one membership")
async def test_of_many_at_once_one_is_stored(database: WholeDatabase, acme: Tenant, ada: User) -> None:
    assert sum(await asyncio.gather(*(add(database, invitation(acme, ada)) for _ in range(10)))) == 1
    async with database.transaction(EveryTenant()) as tx:
        assert len(await tx.outbox.take(100, NOW, timedelta(minutes=2))) == 1


async def test_the_standing_counts_what_was_sent_within_a_day(database: WholeDatabase, acme: Tenant, ada: User) -> None:
    other = tenant()
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(other)
    now = NOW + DAY
    await add(
        database,
        invitation(acme, ada, created_at=NOW, mailed_at=(NOW, NOW + TICK)),
        invitation(acme, ada, "bob@example.com", created_at=NOW + TICK),
    )
    await add(database, invitation(other, ada, mailed_at=(NOW + TICK, now)))
    async with database.transaction(EveryTenant()) as tx:
        usage = await tx.invitations.usage(acme.id, [EVE, "new@example.com"], now)
    assert usage == InvitationUsage(made=1, mails={EVE: 3, "new@example.com": 0}, pending=frozenset({EVE}))


async def test_an_expired_one_gives_way(database: WholeDatabase, acme: Tenant, ada: User) -> None:
    old = invitation(acme, ada)
    await add(database, old)
    async with database.transaction(EveryTenant()) as tx:
        late = await tx.invitations.usage(acme.id, [EVE], old.expires_at - TICK)
        assert late.pending == {EVE}
        assert (await tx.invitations.usage(acme.id, [EVE], old.expires_at)).pending == frozenset()
        assert await tx.invitations.lock(acme.id, old.id) == replace(old, status="expired", ended_at=old.expires_at)
    assert await add(database, invitation(acme, ada)) == 1


async def test_the_page_shows_one_tenant_and_the_statuses_asked_for(
    database: WholeDatabase, acme: Tenant, ada: User
) -> None:
    other, given = tenant(), role(acme.id, name="Given")
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(other)
        await tx.roles.add(given)
    first = invitation(acme, ada, "a@example.com", role_ids=(given.id, new_id()))
    second = invitation(acme, ada, "b@example.com", created_at=NOW + TICK)
    third = invitation(acme, ada, "c@example.com", created_at=NOW + 2 * TICK, expires_at=NOW + DAY)
    await add(database, first, second, third)
    await add(database, invitation(other, ada))

    async def ids(*statuses: InvitationStatus, page: int = 1, size: int = 20) -> tuple[list[UUID], int]:
        chosen = InvitationListing(tenant_id=acme.id, statuses=frozenset(statuses), page=page, page_size=size)
        async with database.read_only(EveryTenant()) as read:
            listed, total = await read.invitations.page(chosen, NOW + DAY)
        assert all(found.roles == (("Given",) if found.invitation.id == first.id else ()) for found in listed)
        return [found.invitation.id for found in listed], total

    async with database.autocommit(EveryTenant()) as tx:
        assert await tx.invitations.end(acme.id, second.id, "revoked", NOW, None)
    assert await ids() == ([third.id, second.id, first.id], 3)
    assert await ids(page=2, size=2) == ([first.id], 3)
    assert await ids("pending") == ([first.id], 1)
    assert await ids("revoked", "expired") == ([third.id, second.id], 2)
    assert await ids("accepted") == ([], 0)


async def test_a_pending_one_is_renewed(database: WholeDatabase, acme: Tenant, ada: User) -> None:
    old = invitation(acme, ada)
    await add(database, old)
    renewed = replace(old, invited_by=new_id(), hash="new", expires_at=NOW + 2 * WEEK, mailed_at=(NOW, NOW + TICK))
    async with database.transaction(EveryTenant()) as tx:
        await tx.invitations.renew(replace(renewed, email="else@example.com"))
        assert await tx.invitations.lock(acme.id, old.id) == renewed
        assert await tx.received.by_hash(old.hash) is None
        await tx.invitations.end(acme.id, old.id, "declined", NOW, None)
        await tx.invitations.renew(old)
        locked = await tx.invitations.lock(acme.id, old.id)
    assert locked == replace(renewed, status="declined", ended_at=NOW)


@pytest.mark.promise("tenants, invitations: of revoking and accepting at once, one happens")
async def test_concurrent_endings_of_an_invitation_succeed_once(
    database: WholeDatabase, acme: Tenant, ada: User
) -> None:
    new = invitation(acme, ada)
    await add(database, new)

    async def end(status: InvitationStatus) -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.invitations.end(acme.id, new.id, status, NOW, ada.id)

    assert sum(await asyncio.gather(*(end(status) for status in ("accepted", "revoked") * 10))) == 1
    async with database.transaction(EveryTenant()) as tx:
        locked = await tx.invitations.lock(acme.id, new.id)
    assert locked is not None
    assert (locked.ended_at, locked.accepted_by) == (NOW, ada.id)


async def test_parallel_invitations_are_counted_one_after_the_other(database: WholeDatabase, ada: User) -> None:
    """Of tenants that invite an address at the same time, the later ones see the mails of the earlier ones."""
    tenants = [tenant() for _ in range(12)]
    async with database.transaction(EveryTenant()) as tx:
        for made in tenants:
            await tx.tenants.add(made)

    async def invite(made: Tenant, email: str) -> tuple[int, int]:
        new = invitation(made, ada, email)
        async with database.transaction(EveryTenant()) as tx:
            before = await tx.invitations.usage(made.id, [EVE, email], NOW)
            await tx.invitations.add([sent(new)])
        return before.mails[email], before.made

    seen = await asyncio.gather(*(invite(made, EVE) for made in tenants))
    assert sorted(mails for mails, _ in seen) == list(range(12))
    addresses = [f"user{number}@example.com" for number in range(12)]
    seen = await asyncio.gather(*(invite(tenants[0], email) for email in addresses))
    assert sorted(made for _, made in seen) == list(range(1, 13))


async def test_an_offer_has_the_names_of_its_parties(database: WholeDatabase, acme: Tenant, ada: User) -> None:
    new = invitation(acme, ada)
    await add(database, new)
    async with database.transaction(EveryTenant()) as tx:
        offer = await tx.received.by_hash(new.hash)
        assert offer == Offer(
            invitation=new,
            tenant_name="Acme",
            tenant_identifier=acme.identifier,
            tenant_is_open=True,
            inviter_name="Ada Byron",
            account_name=None,
        )
        await tx.users.add(user(email=EVE, full_name="Eve"))
        assert await tx.received.by_hash(new.hash) == replace(offer, account_name="Eve")
        assert await tx.received.by_hash("another") is None
        await tx.tenants.save(replace(acme, is_active=False))
        closed = await tx.received.by_hash(new.hash)
        assert closed == replace(offer, account_name="Eve", tenant_is_open=False)
        assert not closed.is_living(NOW)
        branding = Branding(name="Acme Tools", primary_color="#00458b")
        await tx.tenants.save(replace(acme, settings=TenantSettings(branding=branding)))
        assert await tx.received.by_hash(new.hash) == replace(offer, account_name="Eve", branding=branding)
        (shown,) = await tx.received.of_address(EVE, NOW)
        assert shown.branding == branding
        await tx.tenants.save(acme)
        await tx.users.remove(ada.id)
        orphaned = await tx.received.by_hash(new.hash)
    assert orphaned == replace(offer, account_name="Eve", inviter_name=None)
    assert not orphaned.is_living(NOW)


async def test_a_service_account_invites_by_its_name_until_it_is_deleted(
    database: WholeDatabase, acme: Tenant, ada: User
) -> None:
    other = tenant()
    program, stranger = service_account(acme.id, name="Robot"), service_account(other.id)
    new = invitation(acme, ada, invited_by=program.id)
    foreign = invitation(acme, ada, "bob@example.com", invited_by=stranger.id)
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(other)
        await tx.service_accounts.add(program)
        await tx.service_accounts.add(stranger)
    await add(database, new, foreign)
    async with database.transaction(EveryTenant()) as tx:
        offer = await tx.received.by_hash(new.hash)
        assert offer is not None
        assert offer.inviter_name == "Robot"
        assert await tx.received.of_address(EVE, NOW) == [offer]
        # An account of another tenant invites nobody here.
        unknown = await tx.received.by_hash(foreign.hash)
        assert unknown is not None
        assert unknown.inviter_name is None
        assert await tx.received.of_address("bob@example.com", NOW) == []
        await tx.service_accounts.remove(acme.id, program.id, NOW)
        assert await tx.received.by_hash(new.hash) == replace(offer, inviter_name=None)
        assert await tx.received.of_address(EVE, NOW) == []


async def test_an_address_sees_what_it_can_still_accept(database: WholeDatabase, acme: Tenant, ada: User) -> None:
    closed, deleted, open_too = tenant(is_active=False), tenant(), tenant()
    gone = user()
    async with database.transaction(EveryTenant()) as tx:
        for made in (closed, deleted, open_too):
            await tx.tenants.add(made)
        await tx.tenants.remove(deleted.id, NOW)
        await tx.users.add(gone)
    living = [invitation(acme, ada), invitation(open_too, ada, created_at=NOW + TICK)]
    await add(database, *living, invitation(acme, ada, "bob@example.com"))
    ended = invitation(tenant_of := closed, ada)
    await add(database, ended, invitation(deleted, ada))
    async with database.read_only(EveryTenant()) as read:
        offers = await read.received.of_address(EVE, NOW)
        assert [offer.invitation for offer in offers] == living[::-1]
        assert await read.received.of_address(EVE, NOW + WEEK) == []
    assert tenant_of.id != acme.id
    async with database.transaction(EveryTenant()) as tx:
        await tx.invitations.end(acme.id, living[0].id, "declined", NOW, None)
        await tx.users.remove(ada.id)
        assert await tx.received.of_address(EVE, NOW) == []


async def test_who_has_accepted_is_shown_the_invitation_while_they_are_a_member(
    database: WholeDatabase, acme: Tenant, ada: User
) -> None:
    eve, bob = user(email=EVE), user()
    new, declined = invitation(acme, ada), invitation(acme, ada, "bob@example.com")
    await add(database, new, declined)
    async with database.transaction(EveryTenant()) as tx:
        for person in (eve, bob):
            await tx.users.add(person)
            await tx.memberships.save(person.id, acme.id, [], None, NOW)
        assert await tx.received.accepted(eve.id, new.id) is None
        await tx.invitations.end(acme.id, new.id, "accepted", NOW, eve.id)
        await tx.invitations.end(acme.id, declined.id, "declined", NOW, None)
        assert await tx.received.accepted(eve.id, new.id) == await tx.invitations.lock(acme.id, new.id)
        for person, sent_before in ((bob, new.id), (bob, declined.id), (eve, declined.id), (eve, new_id())):
            assert await tx.received.accepted(person.id, sent_before) is None
        await tx.memberships.remove(eve.id, acme.id)
        assert await tx.received.accepted(eve.id, new.id) is None


async def test_roles_that_were_deleted_drop_out(database: WholeDatabase, acme: Tenant) -> None:
    own, system, foreign = role(acme.id, name="A"), role(None, name="B"), role(acme.id, name="C")
    other = tenant()
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(other)
        for new_role in (own, system, replace(foreign, tenant_id=other.id)):
            await tx.roles.add(new_role)
        ids = [system.id, own.id, foreign.id, new_id()]
        assert await tx.received.roles(acme.id, ids) == [own, system]


@pytest.mark.promise("tenants, acceptance: a hundred invitations, their mails and audit lines in one statement")
async def test_a_hundred_invitations_use_one_statement(postgres: PostgresDatabase) -> None:
    acme, ada = tenant(), user()
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.tenants.add(acme)
        await tx.users.add(ada)
    statements: list[str] = []
    async with postgres.transaction(EveryTenant()) as tx:
        tx.connection.add_query_logger(lambda record: statements.append(record.query))
        invitations = [sent(invitation(acme, ada, f"user{number}@example.com")) for number in range(100)]
        assert await tx.invitations.add(invitations) == 100
    assert len([text for text in statements if text != "COMMIT"]) == 1
