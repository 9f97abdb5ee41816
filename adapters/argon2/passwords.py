"""Passwords hashed with Argon2id, off the event loop; imported hashes are checked as they were made."""

import asyncio
import os
import secrets
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import ParamSpec, TypeVar

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import Argon2Error, InvalidHashError
from msgspec import Struct

from adapters.argon2.foreign import scheme_of
from application.ports.identity.imported_hashes import FOREIGN
from domain.errors import TooBusy
from domain.identity.users import normal_password

P = ParamSpec("P")
R = TypeVar("R")


class Cost(Struct, frozen=True, kw_only=True):
    """What one guess costs; the default is what OWASP asks for at least."""

    memory_kib: int = 19_456
    passes: int = 2
    lanes: int = 1


class Argon2Passwords:
    """At most ``waiting`` calls stand behind those that the cores work on; a hundred are about a second on two."""

    def __init__(self, cost: Cost, *, cores: int | None = None, waiting: int = 100) -> None:
        at_once = cores or os.cpu_count() or 1
        self._hasher = PasswordHasher(time_cost=cost.passes, memory_cost=cost.memory_kib, parallelism=cost.lanes)
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="password")
        self._room = BoundedSemaphore(at_once + waiting)
        self._dummy = made_up(self._hasher)

    async def hash(self, password: str) -> str:
        return await self._off_loop(self._hasher.hash, password)

    async def verify(self, password: str, stored: str | None) -> bool:
        own = stored if stored is not None and _is_own(stored) else None
        foreign = scheme_of(stored.removeprefix(FOREIGN)) if stored is not None and own is None else None
        if foreign is not None:
            return await self._off_loop(foreign.matches, password.encode())
        matches = await self._off_loop(self._matches, normal_password(password), own or self._dummy)
        return matches and own is not None

    def is_outdated(self, stored: str) -> bool:
        return not _is_own(stored) or self._hasher.check_needs_rehash(stored)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _matches(self, password: str, stored: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (Argon2Error, InvalidHashError):
            return False

    async def _off_loop(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        if not self._room.acquire(blocking=False):
            raise TooBusy
        # The room is given back when the work is over, not when its caller has lost patience.
        done = self._pool.submit(work, *args, **kwargs)
        done.add_done_callback(lambda _: self._room.release())
        return await asyncio.wrap_future(done)


def made_up(hasher: PasswordHasher) -> str:
    """A hash of nothing: checking a password against it takes as long as against a real one, and it was free to make.

    Making a real one at each start would leave its 19 MiB with the process.
    """
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
