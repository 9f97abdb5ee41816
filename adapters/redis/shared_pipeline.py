"""SharedPipeline: all commands that arrive while one round trip is under way go in the next.

It uses the client's public interface alone, so that it runs on ``Redis``, on the master that a ``Sentinel`` names, and
on ``RedisCluster``, where redis-py splits the pipeline by node.
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
"""Seconds that a round trip may take before the server counts as away."""
LARGEST = 256
"""Commands in one round trip, at most; more of them are better off with several."""

Command = tuple[str | bytes | int | float, ...]
"""As it is sent, with each word an element: ``("SET", "key", b"value")``, ``("EVALSHA", sha, 1, "key")``."""

LOOK_UP: Command = ("EVALSHA", LOOK.sha, 1, "{tenantry}:lease", "")
"""Asks for a key that may not be there, to see whether the server answers; as a script it is refused where the others
would be: by a replica, and without memory."""

_SCRIPTS = {script.sha: script.text for script in ALL}


class Away(Exception):
    """The server does not answer now, or refuses to."""


class _Call(NamedTuple):
    command: Command
    answer: "asyncio.Future[Any]"
    alone: bool


class SharedPipeline:
    """Sends one round trip at a time, without retries.

    Once the server has failed, calls raise Away at once; one of them after each pause makes the attempt to reach it
    again, and does not wait for it.
    """

    def __init__(
        self,
        client: Redis | RedisCluster,
        breaker: Breaker | None = None,
        *,
        look_up: Command = LOOK_UP,
        patience: float = PATIENCE,
    ) -> None:
        """``look_up`` names a key of the scripts: in a cluster, the node that holds those is to answer again.

        ``patience`` is in seconds, for one round trip.
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
        """The server's answer. Raises Away.

        What the server refuses to a script says that it is of no use now, a replica or one without memory; what it
        refuses to a command that stands ``alone`` says nothing about the others.
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
        """The answers in order; what the server refuses stands among them as an exception."""
        answers = await self._exchange(commands)
        # After a restart or SCRIPT FLUSH; sent again with their text, which is remembered from then on.
        forgotten = [at for at, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if forgotten:
            again = await self._exchange([_with_text(commands[at]) for at in forgotten])
            for at, answer in zip(forgotten, again, strict=True):
                answers[at] = answer
        return answers

    async def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            # Not pipeline.evalsha(): a cluster's pipeline blocks the method, and sends the command.
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        return answers

    async def _fail(self, failure: Exception) -> None:
        """Opens the breaker, and closes the connection: the next one may find another server at the address."""
        if not self._breaker.is_outage:
            log.warning("Redis is away (%s): this process counts for itself.", type(failure).__name__)
        self._breaker.failed()
        try:
            await self._client.aclose()
        except Exception:  # it is of no use either way, and is opened anew
            log.debug("The connection to Redis could not be closed.", exc_info=True)

    def _end_outage(self) -> None:
        self._breaker.worked()
        self._refused.clear()  # another server, or another configuration: what it refuses is news
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
        """A warning for the first refusal of each command; the others would be one for each request."""
        if name not in self._refused:
            self._refused.add(name)
            log.warning("Redis refuses %s (%s): this is said once.", name, error)

    def _refuse(self, calls: Sequence[_Call]) -> None:
        """Raises Away in these calls, and in all that wait behind them."""
        for call in (*calls, *self._waiting):
            if not call.answer.done():
                call.answer.set_exception(Away())
        self._waiting.clear()


def _with_text(command: Command) -> Command:
    """EVALSHA as the EVAL that teaches the server the script."""
    return ("EVAL", _SCRIPTS[str(command[1])], *command[2:])
