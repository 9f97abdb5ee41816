"""The lines of answers: the same as every other line of the log, and none of them lost."""

import asyncio
import json
import logging
import os
import re
import signal
from uuid import UUID

import pytest

from adapters.http.operations.access_log import AccessLine, log_access
from entrypoints.server.access_log import BEHIND, AccessWriter, kept
from entrypoints.server.logs import JsonLines
from tests.entrypoints.processes import Serve

LINE = AccessLine("GET", "/api/products/é\n", 200, 0.0123456, "the-one", "203.0.113.9", UUID(int=7))


def written(read: int) -> list[str]:
    with os.fdopen(read, encoding="utf-8") as lines:
        return lines.read().splitlines()


def without_time(line: str) -> str:
    return re.sub(r'"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"', '"time":""', line)


@pytest.mark.parametrize("line", [LINE, AccessLine("HEAD", "/", 404, 1.0, "x", "::1", None)])
async def test_a_line_is_what_the_log_would_make_of_it(caplog: pytest.LogCaptureFixture, line: AccessLine) -> None:
    with caplog.at_level(logging.INFO, "adapters.http.operations.access_log"):
        log_access(line)
    read, write = os.pipe()
    with kept(log := AccessWriter(write)):
        log(line)
    os.close(write)
    (own,) = written(read)
    assert without_time(own) == without_time(JsonLines().format(caplog.records[0]))


async def test_all_lines_are_written_in_their_order(caplog: pytest.LogCaptureFixture) -> None:
    """More than the pipe takes at once, so the reader and the writer take turns; the last comes after the end."""
    read, write = os.pipe()
    reading = asyncio.create_task(asyncio.to_thread(written, read))
    log = AccessWriter(write)
    for number in range(3000):
        log(AccessLine("GET", "/", 200, 0.0, str(number), "::1", None))
        if number % 500 == 0:
            await asyncio.sleep(0)
    await asyncio.to_thread(log.close)
    log(AccessLine("GET", "/", 200, 0.0, "3000", "::1", None))
    os.close(write)
    assert [json.loads(line)["request_id"] for line in await reading] == [str(number) for number in range(3001)]


async def test_a_line_is_written_while_nothing_follows() -> None:
    read, write = os.pipe()
    with kept(log := AccessWriter(write)):
        log(LINE)
        async with asyncio.timeout(5):
            assert json.loads(await asyncio.to_thread(os.read, read, 4096))["request_id"] == "the-one"
    os.close(write)
    os.close(read)


async def test_nobody_reading_is_no_failure() -> None:
    read, write = os.pipe()
    os.close(read)
    with kept(log := AccessWriter(write)):
        log(LINE)
    os.close(write)


async def test_a_reader_that_takes_nothing_does_not_keep_the_service_from_ending() -> None:
    """Nor from answering, with as much behind it as may wait and more."""
    read, write = os.pipe()
    log = AccessWriter(write, gathered=0, patience=0.05)
    for _ in range(2 * BEHIND):
        for _ in range(500):
            log(LINE)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert log._batches.full()
    log.close()
    log(LINE)
    os.set_blocking(read, False)
    assert 0 < len(os.read(read, 2**20)) < 2**20
    os.close(read)  # the thread's last write fails now, and it ends
    os.close(write)


async def test_the_last_requests_before_the_end_are_in_the_log(serve: Serve, shared: dict[str, str]) -> None:
    served = serve(**shared)
    for _ in range(5):
        assert served.call("GET", "/health/live").status == 200
    assert served.end(signal.SIGTERM) == 0
    assert served.process.stdout is not None
    lines = [json.loads(line) for line in served.process.stdout if '"answered"' in line]
    assert [line["path"] for line in lines] == ["/health/live"] * 5
