"""Password hashing with Argon2id, off the event loop. Imported hashes are verified by their own scheme."""

import asyncio
import secrets
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import ParamSpec, TypeVar

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import Argon2Error, InvalidHashError
from msgspec import Struct

from adapters.argon2.foreign import scheme_of
from application.identity.login.keyed_locks import KeyedLocks
from application.ports.database import ASKED_BY
from application.ports.identity.passwords import FOREIGN
from application.ports.load import HashLoad
from domain.errors import TooBusy
from domain.identity.users import normal_password

P = ParamSpec("P")
R = TypeVar("R")


class Cost(Struct, frozen=True, kw_only=True):
    """Argon2id parameters. They determine the cost of one guess; the default is OWASP's minimum."""

    memory_kib: int = 19_456
    passes: int = 2
    lanes: int = 1


class HashQueue:
    """Bounded queue of hashes: ``at_once`` are computed, ``waiting`` more may wait. The pool's
    threads call ``leave``.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._waiting = at_once, waiting
        self._inside = self._refused = 0
        self._lock = Lock()

    def enter(self) -> bool:
        """Enter the queue; return False if it is full."""
        with self._lock:
            if self._inside >= self._at_once + self._waiting:
                self._refused += 1
                return False
            self._inside += 1
            return True

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1

    def load(self) -> HashLoad:
        inside = self._inside
        return HashLoad(
            running=min(inside, self._at_once),
            waiting=max(0, inside - self._at_once),
            most_waiting=self._waiting,
            refused=self._refused,
        )


class Argon2Passwords:
    """Hashes passwords in ``cores`` threads. Raises TooBusy beyond ``waiting`` queued calls.

    One hundred queued calls are about one second of work for two cores. The queue accepts one call at a time for each
    tenant, such as the creation of its users. A login does not belong to a tenant yet and waits for at most one such
    call.
    """

    def __init__(self, cost: Cost, *, cores: int, waiting: int = 100) -> None:
        self._hasher = PasswordHasher(time_cost=cost.passes, memory_cost=cost.memory_kib, parallelism=cost.lanes)
        self._pool = ThreadPoolExecutor(cores, thread_name_prefix="password")
        self._queue = HashQueue(cores, waiting)
        self._locks = KeyedLocks()
        self._dummy = made_up(self._hasher)

    async def hash(self, password: str) -> str:
        return await self._off_loop(self._hasher.hash, password)

    async def verify(self, password: str, stored: str | None) -> bool:
        own = stored if stored is not None and _is_own(stored) else None
        foreign = scheme_of(stored.removeprefix(FOREIGN)) if stored is not None and own is None else None
        if foreign is not None:
            return await self._off_loop(foreign.matches, password.encode())
        # Security: without a stored hash, verify a dummy hash, so that the response time does not reveal whether an
        # account exists.
        matches = await self._off_loop(self._matches, normal_password(password), own or self._dummy)
        return matches and own is not None

    def is_outdated(self, stored: str) -> bool:
        return not _is_own(stored) or self._hasher.check_needs_rehash(stored)

    def load(self) -> HashLoad:
        return self._queue.load()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _matches(self, password: str, stored: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (Argon2Error, InvalidHashError):
            return False

    async def _off_loop(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        if (asked_by := ASKED_BY.get()) is None:
            return await self._queued(work, *args, **kwargs)
        async with self._locks.locked(asked_by):
            return await self._queued(work, *args, **kwargs)

    async def _queued(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        if not self._queue.enter():
            raise TooBusy
        # Wait until the work ends, even if the caller gives up: a thread cannot be interrupted.
        done = self._pool.submit(work, *args, **kwargs)
        done.add_done_callback(lambda _: self._queue.leave())
        return await asyncio.wrap_future(done)


def made_up(hasher: PasswordHasher) -> str:
    """Return a dummy hash of random bytes, as slow to verify as a real hash."""
    # Hashing a password at each start would leave 19 MiB allocated in the process.
    salt, made = (_unpadded(secrets.token_bytes(length)) for length in (hasher.salt_len, hasher.hash_len))
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${made}"


def _unpadded(value: bytes) -> str:
    return b64encode(value).decode().rstrip("=")


def _is_own(stored: str) -> bool:
    try:
        extract_parameters(stored)
    except InvalidHashError:
        return False
    return True
