"""Handlers of a user's own: their arguments, their limits, and the exceptions that they raise."""

from datetime import date
from typing import Annotated, Any, cast

import pytest
from litestar import Request, get, post
from litestar.datastructures import UploadFile
from litestar.di import NamedDependency, Provide
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException
from litestar.params import Body, FromPath, FromQuery, HeaderParameter, QueryParameter
from litestar.response import File
from litestar.routes import HTTPRoute

from adapters.http.app import HttpSettings, build_app
from adapters.http.docs.served import finished
from adapters.http.request.rules import ANY_TOKEN, ORDINARY, RULES, rules
from entrypoints.testing.app import client_of
from tests.http.app import TestApp, hosting

PLACES = [f"/own/{number}/{{shelf:str}}" for number in range(1, 9)]


@get(PLACES, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def in_many_places(shelf: FromPath[str]) -> dict[str, str]:
    return {"shelf": shelf}


def test_a_handler_of_many_paths_has_the_same_limit_in_every_process(app: TestApp) -> None:
    """Each process has an order of its own for them, and a limit is counted by its name in all."""
    routes = build_app(app.services, HttpSettings(routes=(in_many_places,))).routes
    handlers = [
        handler for route in routes if route.path in PLACES for handler in cast(HTTPRoute, route).route_handlers
    ]
    named = {handler.opt[RULES].limit.name for handler in handlers if handler.http_methods == {"GET"}}
    assert named == {"GET /own/8/{shelf}"}


@get("/own/listed", name="listed", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def listed(top: Annotated[int, QueryParameter(ge=1)] = 10) -> dict[str, int]:
    return {"top": top}


@get("/own/raw", opt=rules(policy=ANY_TOKEN, limit=ORDINARY, any_query=True))
async def with_raw_query(request: Request[Any, Any, Any]) -> dict[str, Any]:
    return dict(request.query_params)


async def paging(size: Annotated[int, QueryParameter(name="pageSize")] = 20) -> int:
    return size


@get("/own/needed", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def needed(size: FromQuery[int]) -> int:
    return size


@get("/own/paged", dependencies={"paging": Provide(paging)}, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def paged(paging: NamedDependency[int]) -> int:
    return paging


@get("/own/whole", dependencies={"paging": Provide(paging)}, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def without_pages() -> int:
    return 1


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/own/listed?top=3", 200, {"top": 3}),
        ("/own/listed?tpo=3", 400, "tpo"),
        ("/own/listed", 200, {"top": 10}),
        ("/own/needed", 400, "size"),
        ("/own/listed?top=x", 400, "top"),
        ("/own/raw?a=1", 200, {"a": "1"}),
        ("/own/paged?pageSize=3", 200, 3),
        ("/own/paged?size=3", 400, "size"),
        ("/own/paged?pageSize=x", 400, "pageSize"),
        ("/own/whole?pageSize=3", 400, "pageSize"),
    ],
)
async def test_custom_handlers_refuse_undeclared_query_parameters(
    app: TestApp, path: str, status: int, said: object
) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, listed, with_raw_query, paged, without_pages, needed)) as client:
        answer = await client.get(path, headers=token)
    body = answer.json()
    told = body["error"]["details"][0]["field"] if answer.status_code == 400 else body
    assert (answer.status_code, told) == (status, said)


@get("/own/named", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def named(
    older_than: Annotated[int, QueryParameter(name="olderThan", ge=0)] = 0,
    shelf: Annotated[int, HeaderParameter(name="X-Shelf")] = 0,
) -> int:
    return older_than + shelf


@pytest.mark.parametrize(
    ("query", "shelf", "told"),
    [
        ("olderThan=x", "1", {"field": "olderThan", "message": "expected a whole number, got text"}),
        ("olderThan=-1", "1", {"field": "olderThan", "message": "expected a whole number >= 0"}),
        ("", "x", {"field": "X-Shelf", "message": "expected a whole number, got text"}),
    ],
)
async def test_an_error_names_a_parameter_as_the_client_does(
    app: TestApp, query: str, shelf: str, told: dict[str, str]
) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}", "X-Shelf": shelf}
    async with client_of(hosting(app, named)) as client:
        answer = await client.get(f"/own/named?{query}", headers=token)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"] == [told]


@get("/own/dates/{year:int}", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def of_year(year: int, day: date, words: list[str] | None = None) -> list[Any]:
    return [year, day, words]


@get("/own/every", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def with_every_parameter(query: dict[str, Any]) -> list[str]:
    return sorted(query)


@pytest.mark.filterwarnings("ignore::litestar.utils.deprecation.LitestarDeprecationWarning")
@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/own/dates/2026?day=2026-11-26&words=a&words=b", 200, [2026, "2026-11-26", ["a", "b"]]),
        ("/own/dates/2026?day=2026-11-26&year=2027", 400, "year"),
        ("/own/dates/2026?day=2026-11-26&word=a", 400, "word"),
        ("/own/every?a=1&b=2", 200, ["a", "b"]),
    ],
)
async def test_arguments_without_a_mark_are_query_parameters(
    app: TestApp, path: str, status: int, said: object
) -> None:
    """Litestar's older way, which it warns of and serves."""
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, of_year, with_every_parameter)) as client:
        answer = await client.get(path, headers=token)
    body = answer.json()
    told = body["error"]["details"][0]["field"] if answer.status_code == 400 else body
    assert (answer.status_code, told) == (status, said)


def own_routes_of_one_name() -> list[Any]:
    """Handlers of two files, whose functions have the same name."""

    def made(path: str) -> Any:
        @get(path, opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
        async def page(request: Request[Any, Any, Any]) -> str:
            return request.url.path

        return page

    return [made("/own/first"), made("/own/second/{id:str}")]


async def test_the_ordinary_limit_counts_for_each_method_and_path(app: TestApp) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, *own_routes_of_one_name())) as client:
        left = [
            (await client.get(path, headers=token)).headers["x-ratelimit-remaining"]
            for path in ("/own/first", "/own/first", "/own/second/1", "/own/second/2")
        ]
    assert left == ["99", "98", "99", "98"]


@get("/own/raised/{status:int}", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def raising(status: FromPath[int]) -> None:
    raise HTTPException(detail=f"said by the handler: {status}", status_code=status, headers={"Retry-After": "7"})


@pytest.mark.parametrize(
    ("raised", "status", "code"),
    [
        (401, 401, "UNAUTHORIZED"),
        (403, 403, "FORBIDDEN"),
        (409, 409, "CONFLICT"),
        (412, 412, "PRECONDITION_FAILED"),
        (415, 415, "UNSUPPORTED_MEDIA_TYPE"),
        (418, 400, "BAD_REQUEST"),
        (422, 422, "UNPROCESSABLE_ENTITY"),
        (429, 429, "RATE_LIMITED"),
    ],
)
async def test_exceptions_of_litestar_are_answered_by_their_status(
    app: TestApp, raised: int, status: int, code: str
) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    async with client_of(hosting(app, raising)) as client:
        answer = await client.get(f"/own/raised/{raised}", headers=token)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["message"]) == (status, code, f"said by the handler: {raised}")
    assert answer.headers.get("retry-after") == ("7" if raised == 429 else None)


Uploaded = Annotated[UploadFile, Body(media_type=RequestEncodingType.MULTI_PART)]
SeveralUploaded = Annotated[list[UploadFile], Body(media_type=RequestEncodingType.MULTI_PART)]


@post("/own/one", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def one_file(data: Uploaded) -> str:
    return (await data.read()).decode()


@post("/own/several", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def several_files(data: SeveralUploaded) -> str:
    return "".join([(await file.read()).decode() for file in data])


@pytest.mark.parametrize("path", ["/own/one", "/own/several"])
async def test_a_form_without_the_file_of_a_custom_handler_is_reported(app: TestApp, path: str) -> None:
    token = {"Authorization": f"Bearer {app.tokens['acme']}"}
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    async with client_of(hosting(app, one_file, several_files)) as client:
        taken = await client.post(path, files={"any": ("a.txt", b"held")}, headers=token)
        refused = [
            await client.post(path, files={"any": (None, "text")}, headers=token),
            await client.post(path, content=b"--x--\r\n", headers={**token, **kind}),
            await client.post(path, headers=token),
        ]
    assert (taken.status_code, taken.text) == (201, "held")
    assert [answer.status_code for answer in refused] == [400, 400, 400]
    missing = [{"field": "data", "message": "is required"}]
    assert [answer.json()["error"]["details"] for answer in refused] == [missing] * 3


@get("/own/report", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def report() -> File:
    return File(__file__)


@get("/own/picture", media_type="image/png", opt=rules(policy=ANY_TOKEN, limit=ORDINARY))
async def picture() -> File:
    return File(__file__)


@pytest.mark.parametrize(
    ("path", "media_type"), [("/own/report", "application/octet-stream"), ("/own/picture", "image/png")]
)
def test_a_file_has_its_media_type_in_the_document(app: TestApp, path: str, media_type: str) -> None:
    application = build_app(app.services, HttpSettings(routes=(report, picture)))
    described = finished(application.openapi_schema.to_schema())["paths"][path]["get"]
    assert [*described["responses"]["200"]["content"]] == [media_type]
