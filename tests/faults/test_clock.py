"""The clock of a machine jumps an hour either way: its tokens are refused elsewhere, and sessions go on everywhere."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.entrypoints.pair import Client, JsonObject
from tests.faults.rig import RECOVERED_WITHIN, Rig, rig_on
from tests.faults.traffic import session_of, traffic_on

pytestmark = [pytest.mark.timeout(180), pytest.mark.long]


class JumpingClock:
    """The first process's distance from the true time, in a file; its monotonic clock goes on."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.file = folder / "distance"
        self.stand("+0")

    def stand(self, distance: str) -> None:
        # replaced as a whole: the process may read it at any moment
        written = self.file.with_suffix(".new")
        written.write_text(f"{distance}\n")
        written.replace(self.file)


@pytest.fixture
def jumping(tmp_path: Path) -> JumpingClock:
    return JumpingClock(tmp_path)


@pytest.fixture
async def rig(tmp_path: Path, jumping: JumpingClock) -> AsyncIterator[Rig]:
    command = [sys.executable, "-m", "tests.faults.jumping_service", str(jumping.file)]
    async with rig_on(tmp_path, command) as rig:
        yield rig


@pytest.mark.promise("security, faults: a clock that jumps an hour either way ends no session and revives no token")
@pytest.mark.parametrize("jump", ["+3700", "-3700"])
async def test_a_clock_that_jumps_ends_no_session_and_revives_no_token(
    rig: Rig, jumping: JumpingClock, jump: str
) -> None:
    traffic = await traffic_on(rig)
    wrong, right = rig.clients
    assert await traffic.works()
    jumping.stand(jump)
    # an hour, and what is tolerated
    assert await wrong.knows(traffic.root) == jump.startswith("-")
    assert (await right.call("GET", "/api/auth/me", token=traffic.root)).status_code == 200
    for _ in range(3):
        for client in rig.clients:
            assert await refreshed(traffic.sessions[0], client)
    assert await traffic.logs_in(wrong)
    assert await traffic.logs_in(right)
    for token in traffic.dead:
        assert [await client.knows(token) for client in rig.clients] == [False, False]
    given_then = await session_of(wrong, "stayer-1@example.com")

    jumping.stand("+0")
    assert await rig.recovers(jump, traffic.works) < RECOVERED_WITHIN
    for client in rig.clients:
        for session in (traffic.sessions[0], traffic.sessions[1], given_then):
            assert await refreshed(session, client)
            assert await client.knows(session["token"])
    for token in traffic.dead:
        assert [await client.knows(token) for client in rig.clients] == [False, False]
    assert traffic.wrong == []
    assert "Traceback" not in rig.said(), rig.said()[-6000:]


async def refreshed(session: JsonObject, client: Client) -> bool:
    answer = await client.call("POST", "/api/auth/refresh", {"refreshToken": session["refreshToken"]})
    assert answer.status_code == 200, answer.text
    session.update(answer.json()["data"])
    return True
