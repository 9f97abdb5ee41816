"""Answers that break off after their beginning: the access log and the metrics have them as any other."""

from collections.abc import AsyncGenerator
from contextlib import suppress

import pytest
from litestar import Response, get
from litestar.background_tasks import BackgroundTask
from litestar.response import Stream

from adapters.http.app import HttpSettings
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules
from application.ports.access_log import AccessLine
from tests.http.app import TestApp, client_of


async def test_an_answer_that_breaks_off_is_logged(app: TestApp, caplog: pytest.LogCaptureFixture) -> None:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"the beginning"
        raise RuntimeError("the rest is missing")

    @get("/own/broken", opt=rules(policy=PUBLIC, limit=UNLIMITED))
    async def broken() -> Stream:
        return Stream(pieces())

    lines = list[AccessLine]()
    async with client_of(app.services, HttpSettings(log=lines.append, routes=(broken,))) as client:
        with suppress(Exception):  # the connection ends without the rest
            await client.get("/own/broken")
    assert [(line.path, line.status, line.refusal) for line in lines] == [("/own/broken", 200, "INTERNAL_ERROR")]
    assert causes(caplog) == [("request failed after its answer began", "GET /own/broken", "the rest is missing")]


async def test_a_background_task_that_fails_is_logged_with_its_cause(
    app: TestApp, caplog: pytest.LogCaptureFixture
) -> None:
    async def call_a_hook() -> None:
        raise ConnectionRefusedError("nobody listens")

    @get("/own/told", opt=rules(policy=PUBLIC, limit=UNLIMITED))
    async def told() -> Response[str]:
        return Response("done", background=BackgroundTask(call_a_hook))

    async with client_of(app.services, HttpSettings(routes=(told,))) as client:
        with suppress(Exception):
            await client.get("/own/told")
    assert causes(caplog) == [("request failed after its answer began", "GET /own/told", "nobody listens")]


def causes(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    """Message, operation and cause of each fault; a stream fails within a group of tasks."""
    told = [(record, record.exc_info[1]) for record in caplog.records if record.exc_info]
    return [
        (
            record.getMessage(),
            str(vars(record)["operation"]),
            str(error.exceptions[0] if isinstance(error, ExceptionGroup) else error),
        )
        for record, error in told
    ]
