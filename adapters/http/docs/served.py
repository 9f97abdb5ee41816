"""Litestar's OpenAPI document on the service's own path, without repetition."""

import re
from asyncio import Lock, sleep, to_thread
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import chain, count
from typing import Any, cast

import msgspec
from litestar import Litestar, MediaType, Response, Router
from litestar.connection import Request
from litestar.exceptions import NotFoundException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Contact, License, Server
from litestar.response.base import ASGIResponse
from litestar.serialization import encode_json

from adapters.http.docs.excerpts import TAG, asked_tags, excerpt
from adapters.http.docs.operations import camel, without_flags
from adapters.http.docs.pages import About
from adapters.http.request.rules import PUBLIC, UNLIMITED, Parameter, rules
from adapters.http.request.strict_request import StrictRequest
from adapters.http.static_files import file_of
from application.tasks import beside

Json = dict[str, Any]


OF_SERVICE = frozenset(
    "auth keys second-factors users roles permissions tenants invitations join-requests service-accounts applications "
    "audit-events members entities files operations changes webhooks system health".split()
)
"""Tags that every service has; the document shows those of its entities and routes before them."""


PREPARED_AFTER = 1.0
"""Seconds from the start of a process, so that all processes are ready before one builds the document."""


class CachedDocument:
    """The OpenAPI document, built and encoded once.

    Building needs seconds with hundreds of entities. A thread does it, so that the event loop stays free.
    """

    def __init__(self, pause: float = PREPARED_AFTER) -> None:
        self._document: bytes | None = None
        self._one_at_a_time = Lock()
        self._pause = pause

    @asynccontextmanager
    async def prepared(self, app: Litestar) -> AsyncIterator[None]:
        """Build the document soon after the start, as a lifespan of the application."""
        async with beside(self._prepare(app)):
            yield

    async def _prepare(self, app: Litestar) -> None:
        await sleep(self._pause)
        with suppress(Exception):  # a request for the document raises the error again
            await self.built(app)

    async def answer(self, request: Request[Any, Any, Any]) -> bytes | None:
        """Return this document in place of Litestar's. The document's router calls this hook before its handlers."""
        if request.path_params:
            return None  # Litestar's path for everything except the document
        tags = asked_tags(cast(StrictRequest, request).parameters())
        document = await self.built(request.app)
        return await to_thread(excerpt, document, tags) if tags else document

    async def built(self, app: Litestar) -> bytes:
        """Return the document; the first call builds it."""
        async with self._one_at_a_time:
            if self._document is None:
                self._document = await to_thread(_encoded, app)
            return self._document


def _encoded(app: Litestar) -> bytes:
    return encode_json(finished(app.openapi_schema.to_schema()))


class DocumentResponse(Response[bytes]):
    """The document with its entity tag, or 304 if the client has it."""

    def to_asgi_response(self, app: Any, request: Request[Any, Any, Any], **options: Any) -> ASGIResponse:
        file = file_of(self.content, "application/json")
        return file.response(cast(StrictRequest, request)).to_asgi_response(app, request, **options)


def openapi_config(
    about: About, router: Callable[..., Router], below: str = "", document: CachedDocument | None = None
) -> OpenAPIConfig:
    """Return the configuration with the document's handlers on a router of the plugin, behind the pipeline.

    ``below`` is the path of the public address.
    """
    contact = Contact(name=about.contact_name, url=about.contact_url, email=about.contact_email)
    return OpenAPIConfig(
        title=about.title,
        version=about.version,
        description=about.description,
        servers=[Server(url=below or "/")],
        contact=contact if contact.to_schema() else None,
        license=License(name="Licence", url=about.license_url) if about.license_url else None,
        render_plugins=[JsonRenderPlugin(path=[f"/{about.root}.json", "/openapi.json"], media_type=MediaType.JSON)],
        openapi_router=router(
            f"/{about.root}/v1",
            [],
            include_in_schema=False,
            response_class=DocumentResponse,
            before_request=(document or CachedDocument()).answer,
            after_request=_no_page,
            opt=rules(policy=PUBLIC, limit=UNLIMITED, parameters=(Parameter(TAG, {"type": "string"}),)),
        ),
    )


async def _no_page(response: Response[Any]) -> Response[Any]:
    """Raise NotFoundException in place of Litestar's 404 page."""
    if response.status_code == 404:
        raise NotFoundException
    return response


def finished(document: Json) -> Json:
    """The service's own document: paths in camel case, repeated parameters once, tags of own entities first."""
    document["paths"] = {  # omits HEAD operations
        re.sub(r"{(\w+)}", lambda found: "{" + camel(found[1]) + "}", path): {
            method: operation for method, operation in item.items() if method != "head"
        }
        for path, item in document["paths"].items()
    }
    headers = document["components"]["headers"]
    document["components"]["headers"] = {name: without_flags(header) for name, header in headers.items()}
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    for operation in operations:
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                parameter["name"] = camel(parameter["name"])
    document["components"]["parameters"] = _shared_parameters(operations)
    document["components"]["responses"] = _shared_responses(operations)
    for name, schema in document["components"]["schemas"].items():
        if schema.get("title") == name:
            del schema["title"]
        _open_tuples(schema)
        if "description" in schema:
            # Docstrings use reStructuredText, descriptions use Markdown.
            schema["description"] = schema["description"].replace("``", "`")
    tags = dict.fromkeys(tag for operation in operations for tag in operation.get("tags", ()))
    own_first = sorted(tags, key=lambda tag: tag in OF_SERVICE)
    return document | {"tags": [{"name": tag} for tag in own_first]}


def _open_tuples(schema: Json) -> None:
    """Remove ``"items": false`` of tuples, which generators of clients refuse; ``maxItems`` says the same."""
    if schema.get("items") is False:
        del schema["items"]
    for inner in schema.values():
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, dict):
                _open_tuples(each)


def _shared_parameters(operations: list[Json]) -> Json:
    """Move repeated parameters to components: the most frequent with its plain name (``page``), others with their tag
    as prefix.
    """
    takers = defaultdict(list)
    for operation in operations:
        for place, parameter in enumerate(operation["parameters"]):
            if operation.get("tags"):
                takers[msgspec.json.encode(parameter)].append((operation, place))
    shared: Json = {}
    for key, places in sorted(takers.items(), key=lambda item: -len(item[1])):
        if len(places) > 1:
            parameter, tags = msgspec.json.decode(key), [operation["tags"][0] for operation, _ in places]
            bare, tagged = parameter["name"], f"{tags[0]}.{parameter['name']}"
            names = ([bare] if len(set(tags)) > 1 else []) + [tagged]
            names += [f"{tagged}-{number}" for number in range(2, len(shared) + 3)]
            name = next(name for name in names if name not in shared)
            shared[name] = parameter
            for operation, place in places:
                operation["parameters"][place] = {"$ref": f"#/components/parameters/{name}"}
    return dict(sorted(shared.items()))


def _shared_responses(operations: list[Json]) -> Json:
    """Move repeated responses to components: errors by area and status (``B404``), others by tag and status
    (``products200``).
    """
    takers = defaultdict(list)
    for operation in operations:
        for status, response in operation["responses"].items():
            takers[status, msgspec.json.encode(response)].append(operation)
    shared: Json = {}
    for (status, key), taking in takers.items():
        if len(taking) > 1:
            error = re.search(rb'schemas/Error([AB])"', key)
            bare = (error[1].decode() if error else taking[0].get("tags", ["all"])[0]) + status
            numbered = (f"{bare}-{number}" for number in count(2))
            name = next(name for name in chain([bare], numbered) if name not in shared)
            shared[name] = msgspec.json.decode(key)
            for operation in taking:
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    return dict(sorted(shared.items()))
