"""/health: whether the process answers, and whether what it stands on does."""

from dataclasses import dataclass
from typing import Protocol

import msgspec

from adapters.http.request.endpoint import PUBLIC, UNLIMITED, Answer, Call, Endpoint, Shown
from adapters.http.request.old_responses import JSON, NO_STORE


class Live(msgspec.Struct):
    status: str


class Ready(msgspec.Struct):
    """``status`` is ``ready``, ``degraded`` without the shared memory, or ``unavailable`` without the database."""

    status: str
    database: bool
    redis: bool


class Database(Protocol):
    async def is_ready(self) -> bool: ...


class Admissions(Protocol):
    async def is_shared(self) -> bool: ...


class Standing(Protocol):
    """What the process stands on."""

    @property
    def database(self) -> Database: ...
    @property
    def admissions(self) -> Admissions: ...


@dataclass(frozen=True)
class Health:
    database: Database
    admissions: Admissions

    async def live(self, _: Call) -> Answer:
        return _answer(200, Live("live"))

    async def ready(self, _: Call) -> Answer:
        database, redis = await self.database.is_ready(), await self.admissions.is_shared()
        if not database:
            return _answer(503, Ready("unavailable", database, redis))
        return _answer(200, Ready("ready" if redis else "degraded", database, redis))


def _answer(status: int, said: Live | Ready) -> Answer:
    return Answer(status, msgspec.json.encode(said), (JSON, NO_STORE))


def health_endpoints(services: Standing) -> list[Endpoint]:
    health = Health(services.database, services.admissions)
    return [
        Endpoint(
            method="GET",
            path="/health/live",
            run=health.live,
            policy=PUBLIC,
            limit=UNLIMITED,
            area="B",
            operation="health.live",
            tag="health",
            summary="Whether the process answers",
            shown=(Shown(200, "bare", Live),),
        ),
        Endpoint(
            method="GET",
            path="/health/ready",
            run=health.ready,
            policy=PUBLIC,
            limit=UNLIMITED,
            area="B",
            operation="health.ready",
            tag="health",
            summary="Whether the database and the shared memory answer",
            description="503 without the database, or while migrations are pending; `degraded` without Redis.",
            shown=(Shown(200, "bare", Ready), Shown(503, "bare", Ready)),
        ),
    ]
