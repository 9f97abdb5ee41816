"""Tenants and their people, made once by requests: the tests of a worker take over what those have stored.

Each test has an application of its own, with a copy of the database, the limits, the cache and the mails as they were
after the requests, and the ids go on from there.
"""

from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.memory.store import Store
from tests.http.app import TestApp, empty_test_app, open_test_app

Seed = Callable[[TestApp], Awaitable[None]]


@dataclass(frozen=True)
class Seeded:
    """What an application has stored. Its clock has not moved."""

    store: Store
    used_ids: int
    counted: dict[str, Any]
    cached: dict[str, Any]
    sent: list[Any]
    tokens: dict[str, str]


_SEEDED: dict[tuple[Seed, tuple[type[Struct], ...]], Seeded] = {}
_COUNTED = ("_requests", "_request_count", "_values", "_epoch")
"""State of the limits and of the token versions; numbers for changes that run are not taken over: none runs."""
_CACHED = ("_entries", "_sweep_at")


async def open_seeded(seed: Seed, entities: Sequence[type[Struct]]) -> TestApp:
    key = seed, tuple(entities)
    if key not in _SEEDED:
        app = await open_test_app(entities=entities)
        await seed(app)
        _SEEDED[key] = _state_of(app)
        return app
    app = empty_test_app(entities=entities)
    _take_over(app, _SEEDED[key])
    await app.services.signing_keys.ensure()  # those that are stored
    return app


def _state_of(app: TestApp) -> Seeded:
    ids = cast(CountingIds, app.adapters.ids)
    used = next(ids._numbers) - 1
    ids._numbers = count(used + 1)
    return Seeded(
        store=app.database.committed().copy(),
        used_ids=used,
        counted={name: deepcopy(getattr(app.adapters.admissions, name)) for name in _COUNTED},
        cached={name: deepcopy(getattr(app.adapters.cache, name)) for name in _CACHED},
        sent=[*app.sent],
        tokens=dict(app.tokens),
    )


def _take_over(app: TestApp, state: Seeded) -> None:
    app.database._committed = state.store.copy()
    cast(CountingIds, app.adapters.ids)._numbers = count(state.used_ids + 1)
    for adapter, values in ((app.adapters.admissions, state.counted), (app.adapters.cache, state.cached)):
        for name, value in values.items():
            setattr(adapter, name, deepcopy(value))
    app.sent.extend(state.sent)
    app.tokens.update(state.tokens)
