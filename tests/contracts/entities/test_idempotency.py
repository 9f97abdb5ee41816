"""Idempotency: responses stored under a key for repeated requests."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from application.ports.entities.idempotency import KEPT_FOR, Claim, StoredResponse
from application.ports.whole_database import WholeDatabase
from domain.scope import OneTenant
from tests.builders import NOW, new_id

HERE = OneTenant(new_id())
ADA = new_id()


def claim(key: str = "k", fingerprint: str = "f", **given: Any) -> Claim:
    values: dict[str, Any] = {"tenant_id": HERE.id, "user_id": ADA, "key": key, "fingerprint": fingerprint}
    return Claim(**{**values, **given})


async def answer(
    database: WholeDatabase, claim: Claim, text: bytes, at: timedelta = timedelta(0)
) -> StoredResponse | None:
    """The stored response of the claim; ``text`` is stored when there is none."""
    async with database.transaction(OneTenant(claim.tenant_id)) as tx:
        first = await tx.answers.claim(claim, NOW + at)
        if first is None:
            await tx.answers.keep(claim, text, NOW + at)
    return first


async def test_the_first_answer_is_kept(database: WholeDatabase) -> None:
    assert await answer(database, claim(), b"first") is None
    assert await answer(database, claim(fingerprint="g"), b"second") == StoredResponse("f", b"first")


async def test_keys_are_a_users_own_in_one_tenant(database: WholeDatabase) -> None:
    assert await answer(database, claim(), b"first") is None
    assert await answer(database, claim(user_id=new_id()), b"another user's") is None
    assert await answer(database, claim(tenant_id=new_id()), b"another tenant's") is None
    assert await answer(database, claim("other"), b"another key's") is None


async def test_what_is_undone_keeps_no_answer(database: WholeDatabase) -> None:
    async def fail() -> None:
        async with database.transaction(HERE) as tx:
            assert await tx.answers.claim(claim(), NOW) is None
            await tx.answers.keep(claim(), b"never", NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await answer(database, claim(), b"first") is None


async def test_after_a_day_the_key_is_free(database: WholeDatabase) -> None:
    assert await answer(database, claim(), b"first") is None
    assert await answer(database, claim(), b"late", KEPT_FOR - timedelta(seconds=1)) == StoredResponse("f", b"first")
    assert await answer(database, claim(fingerprint="g"), b"next day", KEPT_FOR) is None
    assert await answer(database, claim(), b"", KEPT_FOR) == StoredResponse("g", b"next day")


async def test_of_twenty_at_once_one_is_first_and_all_get_its_answer(database: WholeDatabase) -> None:
    answers = await asyncio.gather(*(answer(database, claim(), b"%d" % n) for n in range(20)))
    assert answers.count(None) == 1
    first = answers.index(None)
    assert {result.answer for result in answers if result is not None} == {b"%d" % first}
