"""A code of an authenticator app is used once, whichever process it is shown to."""

import asyncio
import time
from pathlib import Path

import httpx
import pyotp
import pytest

from tests.conftest import NewDatabase
from tests.entrypoints.pair import ADMIN, Pair, pair_on
from tests.entrypoints.several_processes.test_revocation_everywhere import flush

pytestmark = pytest.mark.end_to_end


@pytest.mark.promise(
    "second factors, attacks: CVE-2025-6014, CVE-2025-55003, CVE-2026-33473: a code that serves twice, also at the "
    "same moment"
)
async def test_one_code_shown_twenty_times_at_once_to_two_processes_lets_in_once(
    new_database: NewDatabase, tmp_path: Path
) -> None:
    async with pair_on(tmp_path, await new_database()) as pair:
        await show_everywhere(pair)


async def show_everywhere(pair: Pair) -> None:
    token = (await pair.first.log_in())["token"]
    begun = await pair.first.call("POST", "/api/auth/factors/totp/begin", {}, token=token)
    app = pyotp.TOTP(begun.json()["data"]["secret"])
    step = int(time.time()) // 30
    # The code of a moment ago sets the app up, that of now, which is another step, logs in.
    body = {"state": begun.json()["data"]["state"], "code": app.at((step - 1) * 30)}
    finished = await pair.second.call("POST", "/api/auth/factors/totp/finish", body, token=token)
    assert finished.status_code == 201, finished.text
    tickets = [await ticket(pair, number) for number in range(20)]
    code = app.at((step + 1) * 30)

    async def show(number: int) -> httpx.Response:
        shown = {"ticket": tickets[number], "method": "totp", "code": code}
        return await pair.clients[number % 2].call("POST", "/api/auth/mfa/verify", shown)

    answers = await asyncio.gather(*(show(number) for number in range(20)))
    let_in = [answer for answer in answers if answer.status_code == 200]
    assert len(let_in) == 1, [(answer.status_code, answer.text[:80]) for answer in answers]
    # The others were wrong codes, until the factor was locked; or too many requests of one person.
    assert {answer.status_code for answer in answers} - {200} <= {400, 401, 429}
    assert let_in[0].json()["data"]["token"]


async def ticket(pair: Pair, number: int) -> str:
    """The ticket of a login that waits for its second factor."""
    answer = await pair.clients[number % 2].try_login(ADMIN)
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "MFA_REQUIRED"), answer.text
    found: str = answer.json()["mfa"]["ticket"]
    return found


@pytest.mark.promise(
    "second factors, behaviour: what has begun survives an emptied Redis, and what was used stays used"
)
@pytest.mark.long
async def test_a_started_login_continues_after_redis_is_emptied(new_database: NewDatabase, tmp_path: Path) -> None:
    """Tickets and states are sealed, and their ids are used up in PostgreSQL: Redis knows of none of them."""
    async with pair_on(tmp_path, await new_database()) as pair:
        token = (await pair.first.log_in())["token"]
        begun = await pair.first.call("POST", "/api/auth/factors/totp/begin", {}, token=token)
        app, step = pyotp.TOTP(begun.json()["data"]["secret"]), int(time.time()) // 30
        body = {"state": begun.json()["data"]["state"], "code": app.at((step - 1) * 30)}
        await flush(pair)
        finished = await pair.second.call("POST", "/api/auth/factors/totp/finish", body, token=token)
        assert finished.status_code == 201, finished.text
        waiting = await ticket(pair, 0)
        await flush(pair)
        wrong = {"ticket": waiting, "method": "totp", "code": "000000"}
        assert (await pair.second.call("POST", "/api/auth/mfa/verify", wrong)).status_code == 400
        await flush(pair)
        shown = {**wrong, "code": app.at((step + 1) * 30)}
        let_in = await pair.second.call("POST", "/api/auth/mfa/verify", shown)
        assert let_in.status_code == 200, let_in.text
        # What was used stays used: the ticket, and the state of the app that was set up.
        await flush(pair)
        for number in range(2):
            again = await pair.clients[number].call("POST", "/api/auth/mfa/verify", shown)
            assert again.status_code in (400, 401), again.text
            assert "token" not in again.text
