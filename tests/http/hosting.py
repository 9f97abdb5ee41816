"""An application of somebody else that has the plugin, with handlers of its own."""

from typing import Any

from litestar import Litestar, get
from litestar.config.cors import CORSConfig
from litestar.exceptions import NotFoundException
from litestar.types import ASGIApp

from adapters.http.app import HttpSettings, build_pipeline
from adapters.http.operations.access_log import log_nothing
from adapters.http.plugin import HttpPlugin
from tests.http.app import TestApp
from tests.http.built_once import called_for, on_stand_ins


@get("/theirs")
async def theirs() -> dict[str, str]:
    return {"whose": "theirs"}


@get("/theirs/missing")
async def missing() -> None:
    raise NotFoundException(detail="theirs alone")


_HOSTING: dict[tuple[Any, ...], Litestar] = {}
"""Applications by their routes: tests with the same routes share one."""


def hosting(app: TestApp, *routes: Any) -> ASGIApp:
    if routes not in _HOSTING:
        services = on_stand_ins(app.services)
        _HOSTING[routes] = Litestar(
            [theirs, missing],
            plugins=[HttpPlugin(services, build_pipeline(services, HttpSettings(), log_nothing), routes)],
            cors_config=CORSConfig(allow_origins=["https://a.example"]),
            logging_config=None,
        )
    return called_for(app.services, _HOSTING[routes])
