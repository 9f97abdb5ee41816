"""Answers that break off after their beginning: the access log and the metrics have them as any other."""

from collections.abc import AsyncGenerator
from contextlib import suppress

from litestar import get
from litestar.response import Stream

from adapters.http.app import HttpSettings
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules
from application.ports.access_log import AccessLine
from tests.http.app import TestApp, client_of


async def test_an_answer_that_breaks_off_is_logged(app: TestApp) -> None:
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
