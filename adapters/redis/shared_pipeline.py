"""Pipeline shared by all requests: it sends all commands that arrive during one round trip in the next.

It uses only the client's public interface, so it works with ``Redis``, with the master of a ``Sentinel``, and with
``RedisCluster``, where redis-py splits the pipeline by node.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.asyncio import Redis, RedisCluster
from redis.exceptions import NoScriptError, ResponseError

from adapters.redis.breaker import Breaker
from adapters.redis.client import OPENED_WITHIN
from adapters.redis.scripts import ALL, LOOK

log = logging.getLogger(__name__)

PATIENCE = 0.25
"""Longest round trip in seconds before the server counts as unavailable."""
LARGEST = 256
"""Maximum number of commands in one round trip."""

Command = tuple[str | bytes | int | float, ...]
"""A command, with each word an element: ``("SET", "key", b"value")``, ``("EVALSHA", sha, 1, "key")``."""

LOOK_UP: Command = ("EVALSHA", LOOK.sha, 1, "{tenantry}:lease", "")
"""Query of a possibly missing key to test the server. As a script, it is refused where the other scripts would be: by a
replica, and with full memory.
"""

_SCRIPTS = {script.sha: script.text for script in ALL}


class Away(Exception):
    """The server is unavailable or refuses commands."""


class _Call(NamedTuple):
    command: Command
    answer: "asyncio.Future[Any]"
    alone: bool


class SharedPipeline:
    """Sends one round trip at a time, without retries.

    After a server failure, calls raise Away at once. After each pause one call starts an attempt to reach the server,
    without waiting for it.
    """

    def __init__(
        self,
        client: Redis | RedisCluster,
        breaker: Breaker | None = None,
        *,
        look_up: Command = LOOK_UP,
        patience: float = PATIENCE,
    ) -> None:
        """``look_up`` names a key of the scripts: in a cluster, the node of this key must answer.

        ``patience`` is in seconds per round trip.
        """
        self._client = client
        self._patience = patience
        self._look_up = look_up
        self._breaker = breaker or Breaker()
        self._refused: set[str] = set()
        self._waiting: deque[_Call] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._trying: asyncio.Task[None] | None = None

    async def call(self, command: Command, *, alone: bool = False) -> Any:
        """Return the server's answer. Raises Away.

        A server that refuses a script is a replica or has lost its memory, so the pipeline stops using it. With the
        flag set, a refusal affects only its own command.
        """
        if self._breaker.is_open:
            self._try_again()
            raise Away
        call = _Call(command, asyncio.get_running_loop().create_future(), alone)
        self._waiting.append(call)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())
        return await call.answer

    async def close(self) -> None:
        tasks = [task for task in (self._sending, self._trying) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._refuse([])
        await self._client.aclose()

    def _try_again(self) -> None:
        if self._breaker.may_try and (self._trying is None or self._trying.done()):
            self._trying = asyncio.create_task(self._reach())

    async def _reach(self) -> None:
        try:
            async with asyncio.timeout(OPENED_WITHIN):
                (answer,) = await self._round_trip([self._look_up])
            if isinstance(answer, Exception):
                raise answer
        except Exception as failure:  # noqa: BLE001  # see _send_all
            await self._fail(failure)
        else:
            self._breaker.answered()

    async def _send_all(self) -> None:
        while self._waiting:
            calls = [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST))]
            try:
                await self._send(calls)
            except Exception as failure:  # noqa: BLE001  # RedisClusterException is no RedisError, and callers wait
                await self._fail(failure)
                self._refuse(calls)
            except BaseException:
                self._refuse(calls)
                raise

    async def _send(self, calls: Sequence[_Call]) -> None:
        async with asyncio.timeout(self._patience):
            answers = await self._round_trip([call.command for call in calls])
        for call, answer in zip(calls, answers, strict=True):
            if isinstance(answer, Exception) and not (call.alone and isinstance(answer, ResponseError)):
                raise answer
        if self._breaker.is_outage:
            self._end_outage()
        for call, answer in zip(calls, answers, strict=True):
            self._give(call, answer)

    async def _round_trip(self, commands: Sequence[Command]) -> list[Any]:
        """Answers in order; an exception for each refused command."""
        answers = await self._exchange(commands)
        # After a restart or SCRIPT FLUSH, send the script's text again.
        forgotten = [at for at, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if forgotten:
            again = await self._exchange([_with_text(commands[at]) for at in forgotten])
            for at, answer in zip(forgotten, again, strict=True):
                answers[at] = answer
        return answers

    async def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            # A cluster's pipeline blocks evalsha() but sends the command.
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        return answers

    async def _fail(self, failure: Exception) -> None:
        """Open the breaker and close the connection: the address may lead to another server."""
        if not self._breaker.is_outage:
            log.warning("Redis is away (%s): this process counts for itself.", type(failure).__name__)
        self._breaker.failed()
        try:
            await self._client.aclose()
        except Exception:  # the client is unusable and opened again
            log.debug("The connection to Redis could not be closed.", exc_info=True)

    def _end_outage(self) -> None:
        self._breaker.worked()
        self._refused.clear()  # the server or its configuration may have changed: log its refusals again
        log.warning("Redis answers again.")

    def _give(self, call: _Call, answer: Any) -> None:
        if call.answer.done():  # its caller has left
            return
        if isinstance(answer, ResponseError):
            self._tell_refusal(str(call.command[0]), answer)
            call.answer.set_exception(Away())
        else:
            call.answer.set_result(answer)

    def _tell_refusal(self, name: str, error: ResponseError) -> None:
        """Warn only about the first refusal of each command."""
        if name not in self._refused:
            self._refused.add(name)
            log.warning("Redis refuses %s (%s): this is said once.", name, error)

    def _refuse(self, calls: Sequence[_Call]) -> None:
        """Raise Away in the given calls and in all waiting calls."""
        for call in (*calls, *self._waiting):
            if not call.answer.done():
                call.answer.set_exception(Away())
        self._waiting.clear()


def _with_text(command: Command) -> Command:
    """Convert EVALSHA to EVAL, which loads the script."""
    return ("EVAL", _SCRIPTS[str(command[1])], *command[2:])
