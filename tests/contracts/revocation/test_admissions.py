"""Admissions: rate limits are exact to the request, for any callers and any concurrency."""

import asyncio
from datetime import timedelta
from itertools import count

import pytest

from application.ports.shared_memory import Admissions, PresentedToken
from domain.limits import Hit, Limit
from tests.servers.shared_memories import Shared

SECOND = timedelta(seconds=1)
names = (f"case-{number}" for number in count())


def limit(number: int, window: timedelta = SECOND) -> Limit:
    return Limit(next(names), number, window)


async def allowed(admissions: Admissions, *hits: Hit) -> bool:
    return all(verdict.allowed for verdict in (await admissions.admit(hits, None)).verdicts)


async def test_a_limit_lets_exactly_its_number_through(shared: Shared) -> None:
    hit = Hit(limit(3), "user:a")
    verdicts = [(await shared.first.admit([hit], None)).verdicts[0] for _ in range(5)]
    assert [verdict.allowed for verdict in verdicts] == [True, True, True, False, False]
    assert [verdict.remaining for verdict in verdicts] == [2, 1, 0, 0, 0]
    assert {verdict.limit for verdict in verdicts} == {3}


@pytest.mark.promise("identity, limits: a sliding window per caller and endpoint")
async def test_callers_and_limits_count_apart(shared: Shared) -> None:
    limit_a, limit_b = limit(1), limit(1)
    assert await allowed(shared.first, Hit(limit_a, "user:a"))
    assert await allowed(shared.first, Hit(limit_a, "user:b"))
    assert await allowed(shared.first, Hit(limit_b, "user:a"))
    assert not await allowed(shared.second, Hit(limit_a, "user:a"))


@pytest.mark.promise("identity, limits: a sliding window per caller and endpoint")
async def test_a_window_slides_with_each_request(shared: Shared) -> None:
    hit = Hit(limit(2, 10 * SECOND), "user:a")
    assert await allowed(shared.first, hit)
    shared.clock.move(6 * SECOND)
    assert await allowed(shared.first, hit)
    shared.clock.move(3.999999 * SECOND)
    assert not await allowed(shared.first, hit)
    shared.clock.move(0.000001 * SECOND)
    assert await allowed(shared.first, hit)
    assert not await allowed(shared.first, hit)


async def test_reset_is_when_the_oldest_leaves_and_retry_after_when_one_more_fits(shared: Shared) -> None:
    hit = Hit(limit(2, 10 * SECOND), "user:a")
    shared.clock.move(0.25 * SECOND)
    first = -(-shared.clock.now().timestamp() // 1)
    (verdict,) = (await shared.first.admit([hit], None)).verdicts
    assert (verdict.reset, verdict.retry_after) == (first + 10, 0)
    shared.clock.move(2 * SECOND)
    await shared.first.admit([hit], None)
    shared.clock.move(7.5 * SECOND)
    (refused,) = (await shared.first.admit([hit], None)).verdicts
    assert (refused.allowed, refused.reset, refused.retry_after) == (False, first + 10, 1)


@pytest.mark.promise("identity, limits: a refused request is not counted")
async def test_a_request_that_one_limit_refuses_counts_against_none(shared: Shared) -> None:
    tight, wide = Hit(limit(1, 10 * SECOND), "email:a"), Hit(limit(5, 60 * SECOND), "address:a")
    assert await allowed(shared.first, tight, wide)
    for _ in range(9):
        verdicts = (await shared.first.admit([wide, tight], None)).verdicts
        assert [(verdict.allowed, verdict.remaining) for verdict in verdicts] == [(True, 4), (False, 0)]
    shared.clock.move(10 * SECOND)
    verdicts = (await shared.first.admit([wide, tight], None)).verdicts
    assert [(verdict.allowed, verdict.remaining) for verdict in verdicts] == [(True, 3), (True, 0)]


async def test_two_counts_of_one_request_must_both_fit(shared: Shared) -> None:
    odd, single = Hit(limit(3), "user:a"), Hit(limit(1), "user:a")
    assert await allowed(shared.first, odd, odd)
    assert not await allowed(shared.first, odd, odd)
    assert await allowed(shared.first, odd)
    assert not await allowed(shared.first, odd)
    assert not await allowed(shared.first, single, single)


async def test_a_refusal_on_an_empty_log_resets_a_window_from_now(shared: Shared) -> None:
    full, empty = Hit(limit(1), "user:a"), Hit(limit(5, 60 * SECOND), "user:a")
    await shared.first.admit([full], None)
    verdicts = (await shared.first.admit([full, empty], None)).verdicts
    assert verdicts[1].reset == -(-(shared.clock.now().timestamp() + 60) // 1)
    assert verdicts[1].remaining == 5


async def test_parallel_requests_of_two_processes_share_one_limit(shared: Shared) -> None:
    hit = Hit(limit(20), "user:a")
    doors = [shared.first, shared.second]
    answers = await asyncio.gather(*(allowed(doors[number % 2], hit) for number in range(50)))
    assert sum(answers) == 20


async def test_the_shared_memory_answers(shared: Shared) -> None:
    assert await shared.first.is_shared()


async def known(shared: Shared, **counts: int) -> None:
    ticket = (await shared.first.admit((), PresentedToken(dict.fromkeys(counts, 0), ()))).ticket
    assert ticket is not None
    await shared.first.remember(counts, ticket)


async def left(shared: Shared, hit: Hit) -> int:
    """Requests that remained of the limit before this question."""
    return (await shared.second.admit([hit], None)).verdicts[0].remaining + 1


async def test_a_token_that_is_dead_counts_against_another(shared: Shared) -> None:
    own, stranger = (Hit(limit(5, 60 * SECOND), name) for name in ("user:a", "address:a"))
    subject = next(names)
    await known(shared, **{subject: 4, f"{subject} of others": 9})
    for issued, is_dead in ((4, False), (3, True), (0, True), (5, False)):
        admission = await shared.first.admit([own], PresentedToken({subject: issued}, [stranger]))
        assert (admission.counted_instead, admission.token_versions) == (is_dead, {subject: 4})
        assert admission.verdicts[0].allowed
    assert (await left(shared, own), await left(shared, stranger)) == (3, 3)


async def test_one_risen_version_is_enough_while_others_are_unknown(shared: Shared) -> None:
    own, stranger = (Hit(limit(5, 60 * SECOND), name) for name in ("user:a", "address:a"))
    risen, unknown = next(names), next(names)
    await known(shared, **{risen: 1})
    admission = await shared.first.admit([own], PresentedToken({unknown: 0, risen: 0}, [stranger]))
    assert (admission.counted_instead, admission.token_versions) == (True, None)
    assert (await left(shared, own), await left(shared, stranger)) == (5, 4)


async def test_while_a_version_is_not_certain_the_token_is_taken_for_alive(shared: Shared) -> None:
    own, stranger = (Hit(limit(5, 60 * SECOND), name) for name in ("user:a", "address:a"))
    subject = next(names)
    await known(shared, **{subject: 4})
    async with shared.first.publishing([subject]) as counts:
        admission = await shared.second.admit([own], PresentedToken({subject: 4}, [stranger]))
        assert (admission.counted_instead, admission.token_versions) == (False, None)
        counts[subject] = 5
    assert (await shared.second.admit([own], PresentedToken({subject: 4}, [stranger]))).counted_instead
    assert (await left(shared, own), await left(shared, stranger)) == (4, 4)


async def test_a_dead_token_is_refused_by_the_limit_that_counts_instead(shared: Shared) -> None:
    own, stranger = Hit(limit(9), "user:a"), Hit(limit(2), "address:a")
    subject = next(names)
    await known(shared, **{subject: 1})
    shown = PresentedToken({subject: 0}, [stranger])
    verdicts = [(await shared.first.admit([own], shown)).verdicts for _ in range(4)]
    assert [verdict.allowed for (verdict,) in verdicts] == [True, True, False, False]
    assert {verdict.limit for (verdict,) in verdicts} == {2}
    assert await left(shared, own) == 9


async def test_recounting_refunds_some_hits_and_counts_others(shared: Shared) -> None:
    own, stranger = (Hit(limit(3, 60 * SECOND), name) for name in ("user:a", "address:a"))
    for _ in range(3):
        assert await allowed(shared.first, own)
    remaining = [(await shared.second.recount([own], [stranger]))[0].remaining for _ in range(2)]
    assert remaining == [2, 1]
    assert (await left(shared, own), await left(shared, stranger)) == (2, 1)
    (verdict,) = await shared.first.recount((), [stranger])
    assert not verdict.allowed
    assert await shared.first.recount((), ()) == ()


async def test_the_versions_of_many_tokens_are_read_at_once(shared: Shared) -> None:
    subjects = [f"user:{next(names)}" for _ in range(1_200)]
    raised, unknown = subjects[7], next(names)
    known = await shared.first.alive([dict.fromkeys(subjects, 0)])
    assert known.versions == {}
    assert known.ticket is not None
    await shared.first.remember(dict.fromkeys(subjects, 0), known.ticket)
    async with shared.second.publishing([raised]) as versions:
        versions[raised] = 1
        pending = await shared.first.alive([{raised: 0}])
        assert (pending.versions, pending.ticket) == ({}, None)
    found = (await shared.first.alive([{raised: 0, subjects[0]: 0}, {subjects[1]: 0, subjects[0]: 2}])).versions
    assert (found[raised], found[subjects[0]], found[subjects[1]]) == (1, 0, 0)
    assert unknown not in (await shared.first.alive([{unknown: 0}])).versions
    assert (await shared.first.alive([])).versions == {}
