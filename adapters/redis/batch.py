"""Calls to Redis that share a pipeline: all that arrive while one round trip is under way go in the next."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError, ResponseError

from adapters.redis.breaker import Breaker
from adapters.redis.scripts import ALL

log = logging.getLogger(__name__)

PATIENCE = 0.25
"""Seconds that a round trip may take before the server counts as away."""

LARGEST = 256
"""How many calls go in one round trip; what waits longer than that is better off with several."""

Command = tuple[str | bytes | int | float, ...]
Write = Callable[[str], Command]
"""Writes a command for the server whose run id is given."""

_FAILURES = (RedisError, OSError, TimeoutError, EOFError)
_SCRIPTS = {script.sha: script.text for script in ALL}


pack: Callable[[Command], bytes] = pack_command  # type: ignore[assignment]  # its stub knows tuples of one alone
"""In C: the client's own takes half of the time that a call takes."""


class Away(Exception):
    """The server does not answer now, or refuses to."""


class _Line(NamedTuple):
    """One connection; it is never opened again, so the run id belongs to whoever answers on it."""

    connection: AbstractConnection
    run_id: str


class _Call(NamedTuple):
    write: Write
    answer: "asyncio.Future[Any]"
    alone: bool


class Batch:
    """One connection, one round trip at a time, no retries.

    IdempotencyKey the server has failed, calls raise Away at once; one of them after each pause makes the attempt to
    reconnect, and does not wait for it.
    """

    def __init__(self, url: str, breaker: Breaker | None = None) -> None:
        self._pool = ConnectionPool.from_url(url, protocol=2, retry=Retry(NoBackoff(), 0))
        self._breaker = breaker or Breaker()
        self._waiting: deque[_Call] = deque()
        self._line: _Line | None = None
        self._opening: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None

    async def call(self, write: Write, *, alone: bool = False) -> Any:
        """Raises Away. What the server refuses ``alone`` says nothing about the others' commands."""
        if self._breaker.is_open:
            self._reopen()
            raise Away
        call = _Call(write, asyncio.get_running_loop().create_future(), alone)
        self._waiting.append(call)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())
        return await call.answer

    async def close(self) -> None:
        tasks = [task for task in (self._sending, self._opening) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._refuse([])
        await self._drop()

    def _reopen(self) -> None:
        if self._breaker.may_try and (self._opening is None or self._opening.done()):
            self._opening = asyncio.create_task(self._try_to_open())

    async def _try_to_open(self) -> None:
        try:
            await self._open()
        except _FAILURES:
            await self._fail()
        else:
            self._breaker.worked()
            log.warning("Redis answers again.")

    async def _send_all(self) -> None:
        while self._waiting:
            calls = [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST))]
            try:
                await self._send(calls, self._line or await self._open())
            except _FAILURES as failure:
                log.warning("Redis is away (%s): this process counts for itself.", type(failure).__name__)
                await self._fail()
                self._refuse(calls)
            except BaseException:
                self._refuse(calls)
                raise

    async def _send(self, calls: Sequence[_Call], line: _Line) -> None:
        commands = [call.write(line.run_id) for call in calls]
        async with asyncio.timeout(PATIENCE):
            answers = await _exchange(line.connection, commands)
            forgotten = [at for at, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if forgotten:
                again = await _exchange(line.connection, [_with_text(commands[at]) for at in forgotten])
                for at, answer in zip(forgotten, again, strict=True):
                    answers[at] = answer
        for call, answer in zip(calls, answers, strict=True):
            if isinstance(answer, ResponseError) and not call.alone:
                raise answer
        for call, answer in zip(calls, answers, strict=True):
            _give(call, answer)

    async def _open(self) -> _Line:
        connection: AbstractConnection = self._pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            async with asyncio.timeout(PATIENCE * 2):
                await connection.connect()  # type: ignore[no-untyped-call]
                (server,) = await _exchange(connection, [("INFO", "server")])
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        if isinstance(server, ResponseError):
            await connection.disconnect(nowait=True)
            raise server
        self._line = _Line(connection, _run_id(server))
        return self._line

    async def _fail(self) -> None:
        self._breaker.failed()
        await self._drop()

    async def _drop(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            await line.connection.disconnect(nowait=True)

    def _refuse(self, calls: Sequence[_Call]) -> None:
        """These calls, and all that wait behind them."""
        for call in (*calls, *self._waiting):
            if not call.answer.done():
                call.answer.set_exception(Away())
        self._waiting.clear()


def _give(call: _Call, answer: Any) -> None:
    if call.answer.done():
        return
    if isinstance(answer, ResponseError):
        log.warning("Redis refused a command (%s).", answer)
        call.answer.set_exception(Away())
    else:
        call.answer.set_result(answer)


async def _exchange(connection: AbstractConnection, commands: Sequence[Command]) -> list[Any]:
    """The answers in order; what the server refuses stands among them as an exception."""
    packed = b"".join(pack(command) for command in commands)
    await connection.send_packed_command(packed, check_health=False)
    answers = []
    for _ in commands:
        try:
            answers.append(await connection.read_response())
        except ResponseError as refusal:  # the others' answers are read all the same
            answers.append(refusal)
    return answers


def _with_text(command: Command) -> Command:
    """EVALSHA as the EVAL that teaches the server the script."""
    return ("EVAL", _SCRIPTS[str(command[1])], *command[2:])


def _run_id(server: bytes) -> str:
    """An identity of its own for each start of a server: what another one knew is not what this one knows."""
    lines = dict(line.split(":", 1) for line in server.decode().splitlines() if ":" in line)
    return lines["run_id"]
