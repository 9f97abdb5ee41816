"""The document where it is served: Litestar's, on the service's own path and with its headers."""

from typing import Any, Protocol

from litestar import MediaType, Response, Router
from litestar.connection import Request
from litestar.exceptions import NotFoundException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Contact, License
from litestar.response.base import ASGIResponse

from adapters.http.docs.documents import finished
from adapters.http.docs.page import About, file_of
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules


class Routing(Protocol):
    """The plugin, whose routers go through the pipeline."""

    def router(self, path: str, handlers: Any, **options: Any) -> Router: ...


class CachedDocument(JsonRenderPlugin):
    """The document as the service shows it, made and encoded when it is first asked for."""

    _document: bytes | None = None

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        if self._document is None:
            self._document = self.render_json(request, finished(openapi_schema))
        return self._document


def openapi_config(about: About, plugin: Routing) -> OpenAPIConfig:
    name = f"{about.root}.json"
    return OpenAPIConfig(
        title=about.title,
        version=about.version,
        description=about.description,
        contact=_contact(about),
        license=License(name="Licence", url=about.license_url) if about.license_url else None,
        render_plugins=[CachedDocument(path=f"/{name}", media_type=MediaType.JSON)],
        openapi_router=plugin.router(
            f"/{about.root}/v1",
            [],
            include_in_schema=False,
            response_class=DocumentResponse,
            after_request=_no_page,
            opt=rules(policy=PUBLIC, limit=UNLIMITED),
        ),
    )


class DocumentResponse(Response[bytes]):
    """The document with its entity tag, or 304 where the client has it."""

    def to_asgi_response(self, app: Any, request: Request[Any, Any, Any], **options: Any) -> ASGIResponse:
        file = file_of(self.content, "application/json")
        return file.response(request.headers.get("if-none-match")).to_asgi_response(app, request, **options)


async def _no_page(response: Response[Any]) -> Response[Any]:
    """Litestar answers other paths beside its document with a page of its own."""
    if response.status_code == 404:
        raise NotFoundException
    return response


def _contact(about: About) -> Contact | None:
    if not (about.contact_name or about.contact_url or about.contact_email):
        return None
    return Contact(name=about.contact_name, url=about.contact_url, email=about.contact_email)
