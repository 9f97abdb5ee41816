"""/health: liveness of the process, and availability of its database and Redis."""

from litestar import Response, Router, get
from litestar.datastructures import State
from litestar.openapi.datastructures import ResponseSpec
from msgspec import UNSET, Struct, UnsetType

from adapters.http.request.responses import bare
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules
from adapters.http.use_cases import UseCases


class Live(Struct):
    status: str


class Ready(Struct):
    """Readiness of the process.

    ``status`` is ``ready``, or ``degraded`` while the shared memory or the store of files is unavailable, or the feed
    is late. It is ``unavailable`` with a 503 while the database is, and ``draining`` before the service ends. ``files``
    is present if an entity has files.
    """

    status: str
    database: bool
    redis: bool
    files: bool | UnsetType = UNSET


def health_router(services: UseCases) -> Router:
    @get("/live", name="health.live", summary="Whether the process answers")
    async def live() -> Response[Live]:
        return bare(Live("live"))

    @get(
        "/ready",
        name="health.ready",
        summary="Whether the database and the shared memory answer",
        description="503 without the database, while migrations are pending, and while the service drains before it "
        "ends; `degraded` without Redis or the store of files, and while changes wait for more than 10 seconds before "
        "the feed has them.",
        responses={503: ResponseSpec(Ready, generate_examples=False)},
    )
    async def ready(state: State) -> Response[Ready]:
        database, redis = await services.database.is_ready(), await services.admissions.is_shared()
        found = await services.file_availability.is_available()
        files: bool | UnsetType = UNSET if found is None else found
        if state.get("draining"):
            return bare(Ready("draining", database, redis, files), 503)
        if not database:
            return bare(Ready("unavailable", database, redis, files), 503)
        is_degraded = not redis or files is False or await services.monitoring.is_feed_late()
        return bare(Ready("degraded" if is_degraded else "ready", database, redis, files))

    return Router("/health", route_handlers=[live, ready], tags=["health"], opt=rules(policy=PUBLIC, limit=UNLIMITED))
