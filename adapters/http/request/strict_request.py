"""Litestar's request with strict JSON and the pipeline's results."""

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, cast
from uuid import UUID

from litestar.connection import Request
from litestar.params import PathParameter
from msgspec import Struct

from adapters.http.request.rules import LONGEST_APP_ID
from adapters.http.strict_reading import (
    ensure_json,
    ensure_plain,
    read_object,
    read_parameters,
)
from domain.errors import BadRequest, Forbidden, NotFound, Unauthorized, ValidationError
from domain.forms import read_form, uuid_of
from domain.scope import Caller, Client, EveryTenant, OneTenant, Scope

if TYPE_CHECKING:
    from domain.entities.owning import RowLimits

NO_VERSION = -1
"""Version that matches no row: a row without versions has version 0."""

PARSED = "parsed_json"

# Do not split at commas, because a tag may contain commas.
_TAG = re.compile(rb'(?:^|(?<=[\s,]))(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"(?=[\s,]|$)')
# Compressing proxies (Caddy, Apache) add the coding to the tag, and often leave it in If-None-Match.
_VERSION = re.compile(rb'"(0|[1-9][0-9]{0,8})(?:--?(?:gzip|br|zstd|deflate))?"')


PathId: TypeAlias = Annotated[str, PathParameter(format="uuid")]
"""Id in a path, as the client sent it. ``read_id`` converts it to a UUID, or raises 404.

Paths use ``:str`` and not ``:uuid``, so that a malformed id passes token, limit and permission before it is a 404.
"""


BodyReader: TypeAlias = Callable[[bytes, bool], Awaitable[dict[str, object]]]


class RawBody(dict[str, object]):
    """A JSON object that the handler parses itself, with fractions as decimals.

    ``form`` is the struct in the document. ``raw_body`` creates a subclass per entity.
    """

    form: ClassVar[type[Struct]]
    decimals: ClassVar[bool] = True
    reader: ClassVar[BodyReader | None] = None


def raw_body(form: type[Struct], *, decimals: bool = True, reader: BodyReader | None = None) -> Any:
    """Return a type for a handler's ``data``, documented as ``form`` and received as raw bytes."""
    return type(
        form.__name__, (RawBody,), {"form": form, "decimals": decimals, "reader": reader, "__module__": form.__module__}
    )


class StrictRequest(Request[Any, Any, Any]):
    """Reads unambiguous JSON into the struct of the handler's ``data``."""

    async def json(self) -> Any:
        """Read the body.

        Raises ValidationError with every invalid and unknown field; Litestar's reader stops at the first error.

        Litestar treats an empty body as a missing argument; ``errors`` translates its message.
        """
        data = self.route_handler.parsed_fn_signature.parameters.get("data")
        kind = None if data is None else data.annotation
        if not isinstance(kind, type):
            return await self.read_object()
        if issubclass(kind, RawBody):
            return kind(await self.read_object(decimals=kind.decimals, reader=kind.reader))
        value = await self.read_object()
        return read_form(kind, value) if issubclass(kind, Struct) else value

    async def read_object(self, *, decimals: bool = False, reader: BodyReader | None = None) -> dict[str, object]:
        """Return the body as a JSON object, parsed once."""
        body = await self.body()
        ensure_json(self._raw_header(b"content-type"))
        ensure_plain(self.header(b"content-encoding"))
        state = self.scope["state"]
        if PARSED not in state:
            state[PARSED] = await reader(body, decimals) if reader else read_object(body, decimals)
        return cast(dict[str, object], state[PARSED])

    @property
    def caller(self) -> Caller:
        """Bearer of the token. Raises Unauthorized in a handler without authentication."""
        caller: Caller | None = self.scope.get("auth")
        if caller is None:
            raise Unauthorized
        return caller

    @property
    def caller_if_any(self) -> Caller | None:
        """Bearer of the token; None for a request without a token to a public handler."""
        caller: Caller | None = self.scope.get("auth")
        return caller

    @property
    def from_client(self) -> Client:
        """Address, device and request id for the audit trail."""
        return cast(Client, self.scope["state"]["client"])

    @property
    def is_silenced(self) -> bool:
        """Whether the e-mail's limit is exceeded: answer as usual, and do nothing."""
        return bool(self.scope["state"].get("is_silenced"))

    @property
    def at(self) -> datetime:
        """Time of the request's arrival."""
        return cast(datetime, self.scope["state"]["at"])

    @property
    def tenant_scope(self) -> Scope:
        """Return the tenants of the request's rows: the caller's tenant, or those of X-Tenant-Scope."""
        given: Scope | None = self.scope["state"].get("tenant_scope")
        return self.caller.tenant if given is None else given

    def row_scope(self, limits: "RowLimits") -> Scope:
        """Return ``tenant_scope``, limited to own rows if the caller's permissions allow no more."""
        return limits.of(self.tenant_scope, self.caller)

    @property
    def written_tenant(self) -> OneTenant:
        """Tenant of the rows to write; several tenants were refused before."""
        scope = self.tenant_scope
        if not isinstance(scope, OneTenant):
            raise Forbidden
        return scope

    def requested_app_id(self, in_body: str | None = None) -> str | None:
        """Return the application of a login: X-App-Id, else that in the body; an empty name means none."""
        asked = self.header(b"x-app-id") or in_body or None
        if asked is not None and len(asked) > LONGEST_APP_ID:
            raise ValidationError.on("requestedAppId", f"must not exceed {LONGEST_APP_ID} characters")
        return asked

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Return the query's decoded pairs, in order."""
        query = self.scope["query_string"]
        return read_parameters(query) if query else ()

    def header(self, name: bytes) -> str | None:
        value = self._raw_header(name)
        return None if value is None else value.decode("latin-1")

    def _raw_header(self, name: bytes) -> bytes | None:
        return cast(dict[bytes, bytes], self.scope["state"]["headers"]).get(name)

    def wanted_versions(self) -> int | frozenset[int] | None:
        """Return the version in ``If-Match``: several versions for a list, None for any.

        RFC 9110, 13.1.1: tags are compared strongly, so weak and foreign tags match no version. A header without a tag
        matches none either.
        """
        given = self._list_header(b"if-match")
        if self._raw_header(b"if-match") is None or given.strip() == b"*":
            return None
        versions = frozenset(_strong_version(tag) for tag in _tags(given)) or frozenset({NO_VERSION})
        return next(iter(versions)) if len(versions) == 1 else versions

    def has_version(self, version: int) -> bool:
        """Return whether ``If-None-Match`` names this version; tags are compared weakly."""
        given = self._list_header(b"if-none-match")
        if given.strip() == b"*":
            return True
        return any(_strong_version(tag.removeprefix(b"W/")) == version for tag in _tags(given))

    def knows(self, tag: str) -> bool:
        """Return whether ``If-None-Match`` names this entity tag, or any; tags are compared weakly."""
        given = self._list_header(b"if-none-match")
        wanted = tag.removeprefix("W/").encode("latin-1")
        return given.strip() == b"*" or wanted in (known.removeprefix(b"W/") for known in _tags(given))

    def _list_header(self, name: bytes) -> bytes:
        """The header's lines, joined as in RFC 9110, 5.3."""
        if self._raw_header(name) is None:
            return b""
        return b", ".join(value for key, value in self.scope["headers"] if key == name)


def read_id(text: str) -> UUID:
    """Read the id in a path. Raises NotFound for any unusual spelling of a UUID, as for an unknown id."""
    if (found := uuid_of(text)) is None:
        raise NotFound
    return found


def read_scope(given: bytes) -> Scope:
    """The tenants of X-Tenant-Scope: ``all``, or a tenant's id, as super-admins see it. Raises BadRequest."""
    if given == b"all":
        return EveryTenant()
    try:
        return OneTenant(read_id(given.decode("latin-1")), sees_all=True)
    except NotFound:
        raise BadRequest("X-Tenant-Scope must be `all` or the id of a tenant.") from None


def _tags(given: bytes) -> list[bytes]:
    """Entity tags of a list; empty for an invalid header."""
    # Headers cannot contain NUL, so use it to mark a tag.
    rest = _TAG.sub(b"\0", given).replace(b" ", b"").replace(b"\t", b"")
    return [] if rest.strip(b"\0,") or b"\0\0" in rest else _TAG.findall(given)


def _strong_version(tag: bytes) -> int:
    found = _VERSION.fullmatch(tag)
    return NO_VERSION if found is None else int(found[1])
