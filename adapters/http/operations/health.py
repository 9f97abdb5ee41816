"""/health: whether the process answers, and whether what it stands on does."""

from litestar import Response, Router, get
from litestar.openapi.datastructures import ResponseSpec
from msgspec import Struct

from adapters.http.request.responses import NO_STORE, bare
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules
from adapters.http.use_cases import UseCases


class Live(Struct):
    status: str


class Ready(Struct):
    """``status`` is ``ready``, ``degraded`` without the shared memory, or ``unavailable`` without the database."""

    status: str
    database: bool
    redis: bool


def health_router(services: UseCases) -> Router:
    @get("/live", name="health.live", summary="Whether the process answers")
    async def live() -> Response[Live]:
        return bare(Live("live"), headers=NO_STORE)

    @get(
        "/ready",
        name="health.ready",
        summary="Whether the database and the shared memory answer",
        description="503 without the database, or while migrations are pending; `degraded` without Redis.",
        responses={503: ResponseSpec(Ready, generate_examples=False)},
    )
    async def ready() -> Response[Ready]:
        database, redis = await services.database.is_ready(), await services.admissions.is_shared()
        if not database:
            return bare(Ready("unavailable", database, redis), 503, NO_STORE)
        return bare(Ready("ready" if redis else "degraded", database, redis), headers=NO_STORE)

    return Router("/health", route_handlers=[live, ready], tags=["health"], opt=rules(policy=PUBLIC, limit=UNLIMITED))
