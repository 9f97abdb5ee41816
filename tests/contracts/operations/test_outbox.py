"""The outbox: mails of committed transactions, each taken by one caller, none lost by a crash."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from adapters.joserfc.link_secrets import DerivedLinkSecrets
from application.ports.database import Due, Mail, MailKind
from application.ports.mail_delivery import MailBacklog
from application.ports.whole_database import WholeDatabase
from domain.identity.typed_codes import read_code
from domain.scope import EveryTenant
from tests.builders import NOW, new_id

HELD = timedelta(minutes=2)


def mail(**given: Any) -> Mail:
    values: dict[str, Any] = {"id": new_id(), "kind": "reset", "recipient": "ada@example.com", "at": NOW}
    return Mail(**{**values, **given})


async def add(database: WholeDatabase, *mails: Mail) -> None:
    async with database.transaction(EveryTenant()) as tx:
        for new_mail in mails:
            await tx.outbox.add(new_mail)


async def take(database: WholeDatabase, most: int = 10, after: timedelta = timedelta()) -> Sequence[Due]:
    async with database.autocommit(EveryTenant()) as tx:
        return await tx.outbox.take(most, NOW + after, HELD)


async def test_a_mail_is_taken_as_it_was_put_in(database: WholeDatabase) -> None:
    whole = mail(kind="session-stolen", recipient="Ada@example.com", name="Ada {{ 7 * 7 }}", address="::1")
    await add(database, whole)
    (due,) = await take(database)
    assert (due.mail, due.tries) == (whole, 1)


@pytest.mark.promise(
    "identity, accounts and mail: Mail is part of the transaction: sent at least once, and never after a rollback"
)
async def test_what_rolled_back_is_never_sent(database: WholeDatabase) -> None:
    async def fail() -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.outbox.add(mail())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await take(database) == []


async def test_numbers_grow_and_the_longest_due_come_first(database: WholeDatabase) -> None:
    mails = [mail(at=NOW - timedelta(minutes=number)) for number in range(5)]
    await add(database, *mails)
    first, rest = await take(database, 2), await take(database)
    assert {due.mail.id for due in first} == {mails[4].id, mails[3].id}
    numbers = {due.mail.id: due.number for due in (*first, *rest)}
    assert [numbers[stored_mail.id] for stored_mail in mails] == sorted(numbers.values())


async def test_mails_that_users_wait_for_are_sent_before_all_others(database: WholeDatabase) -> None:
    kinds: tuple[MailKind, ...] = ("roles-changed", "invitation", "confirmation", "welcome", "email-change", "reset")
    await add(database, *(mail(kind=kind, at=NOW - timedelta(hours=9 - at)) for at, kind in enumerate(kinds)))
    awaited, others = await take(database, 3), await take(database)
    assert [due.mail.kind for due in awaited] == ["confirmation", "email-change", "reset"]
    assert [due.mail.kind for due in others] == ["roles-changed", "invitation", "welcome"]


async def test_two_takers_never_get_the_same_mail(database: WholeDatabase) -> None:
    mails = [mail() for _ in range(40)]
    await add(database, *mails)
    taken = [due.mail.id for dues in await asyncio.gather(*(take(database) for _ in range(8))) for due in dues]
    taken += [due.mail.id for due in await take(database, 40)]
    assert sorted(taken) == sorted(stored_mail.id for stored_mail in mails)


async def test_a_mail_with_a_crashed_sender_is_due_again(database: WholeDatabase) -> None:
    await add(database, mail())
    (first,) = await take(database)
    assert await take(database, after=HELD - timedelta(seconds=1)) == []
    (again,) = await take(database, after=HELD)
    assert (again.mail, again.number, again.tries) == (first.mail, first.number, 2)


async def test_a_mail_can_be_done_postponed_or_given_up(database: WholeDatabase) -> None:
    done, late, hopeless = mail(), mail(), mail()
    await add(database, done, late, hopeless)
    await take(database)
    async with database.autocommit(EveryTenant()) as tx:
        await tx.outbox.done(done.id)
        await tx.outbox.put_off(late.id, NOW + timedelta(hours=1))
        await tx.outbox.give_up(hopeless.id, NOW, "550 nobody")
    assert await take(database, after=timedelta(minutes=59)) == []
    assert [due.mail for due in await take(database, after=timedelta(hours=1))] == [late]


async def test_given_up_mails_are_listed_with_the_latest_first(database: WholeDatabase) -> None:
    mails = [mail(recipient=f"{number}@example.com") for number in range(4)]
    await add(database, *mails)
    await take(database, 3)
    async with database.autocommit(EveryTenant()) as tx:
        for number, new_mail in enumerate(mails[:3]):
            await tx.outbox.give_up(new_mail.id, NOW + timedelta(hours=number % 2), f"why {number}")
        found = await tx.outbox.given_up(10)
        assert [failed.mail for failed in found] == [mails[1], mails[2], mails[0]]
        assert [failed.at - NOW for failed in found] == [timedelta(hours=1), timedelta(), timedelta()]
        assert [(failed.tries, failed.why) for failed in found] == [(1, "why 1"), (1, "why 2"), (1, "why 0")]
        assert await tx.outbox.given_up(2) == found[:2]


async def test_a_given_up_mail_can_be_retried_like_a_new_one(database: WholeDatabase) -> None:
    hopeless, waiting = mail(), mail(at=NOW + timedelta(days=9))
    await add(database, hopeless, waiting)
    (first,) = await take(database)
    later = NOW + timedelta(days=5)
    async with database.autocommit(EveryTenant()) as tx:
        await tx.outbox.give_up(hopeless.id, NOW, "550 nobody")
        assert await tx.outbox.try_again(hopeless.id, later)
        assert not await tx.outbox.try_again(hopeless.id, later)
        assert not await tx.outbox.try_again(waiting.id, later)
        assert not await tx.outbox.try_again(new_id(), later)
        assert await tx.outbox.given_up(10) == []
    assert await take(database, after=later - NOW - timedelta(seconds=1)) == []
    (again,) = await take(database, after=later - NOW)
    assert (first.since, again.since) == (NOW, later)
    assert (again.mail, again.number, again.tries) == (hopeless, first.number, 1)


async def test_only_a_given_up_mail_can_be_dropped(database: WholeDatabase) -> None:
    hopeless, waiting = mail(), mail()
    await add(database, hopeless, waiting)
    async with database.autocommit(EveryTenant()) as tx:
        await tx.outbox.give_up(hopeless.id, NOW, "")
        assert await tx.outbox.drop(hopeless.id)
        assert not await tx.outbox.drop(hopeless.id)
        assert not await tx.outbox.drop(waiting.id)
        assert await tx.outbox.given_up(10) == []
    assert [due.mail for due in await take(database)] == [waiting]


def test_a_link_secret_is_equal_only_for_the_same_mail_and_key() -> None:
    secrets, mails = DerivedLinkSecrets("k" * 32), [new_id() for _ in range(100)]
    made = [secrets.secret(stored_mail) for stored_mail in mails]
    assert made == [DerivedLinkSecrets("k" * 32).secret(stored_mail) for stored_mail in mails]
    assert len({*made, *(DerivedLinkSecrets("l" * 32).secret(stored_mail) for stored_mail in mails)}) == 200
    assert {len(secret) for secret in made} == {43}


def test_the_code_of_a_mail_is_equal_only_for_the_same_mail_and_key() -> None:
    secrets, mails = DerivedLinkSecrets("k" * 32), [new_id() for _ in range(100)]
    made = [secrets.code(stored_mail) for stored_mail in mails]
    assert made == [DerivedLinkSecrets("k" * 32).code(stored_mail) for stored_mail in mails]
    assert len({*made, *(DerivedLinkSecrets("l" * 32).code(stored_mail) for stored_mail in mails)}) == 200
    assert all(read_code(code) is not None for code in made)


async def test_the_backlog_counts_waiting_and_given_up_mails_and_has_the_oldest_time(database: WholeDatabase) -> None:
    async with database.read_only(EveryTenant()) as read:
        assert await read.outbox_state.backlog() == MailBacklog(waiting=0, oldest=None, given_up=0)
    old, lost = mail(at=NOW - timedelta(hours=2)), mail(at=NOW - timedelta(hours=3))
    await add(database, mail(), old, lost)
    async with database.autocommit(EveryTenant()) as tx:
        await tx.outbox.give_up(lost.id, NOW, "nobody lives there")
        backlog = await tx.outbox_state.backlog()
        assert backlog == MailBacklog(waiting=2, oldest=old.at, given_up=1)
        # due again, it waits since then
        await tx.outbox.try_again(lost.id, NOW + timedelta(minutes=1))
        await tx.outbox.done(old.id)
        assert await tx.outbox_state.backlog() == MailBacklog(waiting=2, oldest=NOW, given_up=0)
