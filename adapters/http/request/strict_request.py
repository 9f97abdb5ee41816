"""The request as handlers see it: Litestar's, with strict JSON and with what the pipeline learned of it."""

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeAlias, cast
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

NO_VERSION = -1
"""The version of no row: one that has no versions is read as version 0."""

PARSED = "parsed_json"

# a tag may hold commas
_TAG = re.compile(rb'(?:^|(?<=[\s,]))(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"(?=[\s,]|$)')
# Proxies that compress add the coding to the tag (Caddy, Apache), and take it off If-None-Match at most.
_VERSION = re.compile(rb'"(0|[1-9][0-9]{0,8})(?:--?(?:gzip|br|zstd|deflate))?"')


PathId: TypeAlias = Annotated[str, PathParameter(format="uuid")]
"""A path's id as it was sent; ``read_id`` makes a UUID of it, or 404.

Paths say ``:str`` and not ``:uuid``, so that a malformed id passes token, limit and permission before it is a 404.
"""


BodyReader: TypeAlias = Callable[[bytes, bool], Awaitable[dict[str, object]]]


class RawBody(dict[str, object]):
    """A JSON object whose handler reads the fields itself, fractions kept as decimals.

    ``form`` is the struct that the document shows for it. Subclasses are made per entity by ``raw_body``.
    """

    form: ClassVar[type[Struct]]
    decimals: ClassVar[bool] = True
    reader: ClassVar[BodyReader | None] = None


def raw_body(form: type[Struct], *, decimals: bool = True, reader: BodyReader | None = None) -> Any:
    """The type for a handler's ``data`` that is documented as ``form`` and arrives as it was sent."""
    return type(
        form.__name__, (RawBody,), {"form": form, "decimals": decimals, "reader": reader, "__module__": form.__module__}
    )


class StrictRequest(Request[Any, Any, Any]):
    """Reads JSON that all readers understand alike, into the struct that the handler's ``data`` names."""

    async def json(self) -> Any:
        """Raises ValidationError with every failing and every unknown field; Litestar's own reader stops at the first.

        An empty body never comes here: Litestar takes it for a missing argument, which ``errors`` translates.
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
        """The body as a JSON object, parsed once even where a limit by e-mail looked at it before."""
        body = await self.body()
        ensure_json(self._raw_header(b"content-type"))
        ensure_plain(self.header(b"content-encoding"))
        state = self.scope["state"]
        if PARSED not in state:
            state[PARSED] = await reader(body, decimals) if reader else read_object(body, decimals)
        return cast(dict[str, object], state[PARSED])

    @property
    def caller(self) -> Caller:
        """Bearer of the token; raises Unauthorized in a handler that asks for none."""
        caller: Caller | None = self.scope.get("auth")
        if caller is None:
            raise Unauthorized
        return caller

    @property
    def caller_if_any(self) -> Caller | None:
        """Bearer of the token; None where a public handler was asked without one."""
        caller: Caller | None = self.scope.get("auth")
        return caller

    @property
    def from_client(self) -> Client:
        """Address, device and request id, as the audit trail records them."""
        return cast(Client, self.scope["state"]["client"])

    @property
    def is_silenced(self) -> bool:
        """Whether too much was asked about the e-mail: the response is the usual one, and nothing is done."""
        return bool(self.scope["state"].get("is_silenced"))

    @property
    def at(self) -> datetime:
        """The moment the request came."""
        return cast(datetime, self.scope["state"]["at"])

    @property
    def tenant_scope(self) -> Scope:
        """Tenants whose rows the request is about: the caller's own, or what X-Tenant-Scope says."""
        given: Scope | None = self.scope["state"].get("tenant_scope")
        return self.caller.tenant if given is None else given

    @property
    def written_tenant(self) -> OneTenant:
        """Tenant whose rows the request writes; several of them have been refused before."""
        scope = self.tenant_scope
        if not isinstance(scope, OneTenant):
            raise Forbidden
        return scope

    def requested_app_id(self, in_body: str | None = None) -> str | None:
        """The application that a login is for, X-App-Id before the body's; an empty name is none."""
        asked = self.header(b"x-app-id") or in_body or None
        if asked is not None and len(asked) > LONGEST_APP_ID:
            raise ValidationError.on("requestedAppId", f"takes {LONGEST_APP_ID} characters at most")
        return asked

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Decoded pairs of the query, in order."""
        query = self.scope["query_string"]
        return read_parameters(query) if query else ()

    def header(self, name: bytes) -> str | None:
        value = self._raw_header(name)
        return None if value is None else value.decode("latin-1")

    def _raw_header(self, name: bytes) -> bytes | None:
        return cast(dict[bytes, bytes], self.scope["state"]["headers"]).get(name)

    def wanted_versions(self) -> int | frozenset[int] | None:
        """Version in ``If-Match``, several where it is a list, None when any will do.

        RFC 9110, 13.1.1: tags are compared strongly, so that a weak one is the version of nothing, as are tags of
        something else and a header that names none.
        """
        given = self._list_header(b"if-match")
        if self._raw_header(b"if-match") is None or given.strip() == b"*":
            return None
        versions = frozenset(_strong_version(tag) for tag in _tags(given)) or frozenset({NO_VERSION})
        return next(iter(versions)) if len(versions) == 1 else versions

    def has_version(self, version: int) -> bool:
        """True where ``If-None-Match`` says that the caller has this version already; tags are compared weakly."""
        given = self._list_header(b"if-none-match")
        if given.strip() == b"*":
            return True
        return any(_strong_version(tag.removeprefix(b"W/")) == version for tag in _tags(given))

    def knows(self, tag: str) -> bool:
        """True where ``If-None-Match`` names this entity tag, or any; tags are compared weakly."""
        given = self._list_header(b"if-none-match")
        wanted = tag.removeprefix("W/").encode("latin-1")
        return given.strip() == b"*" or wanted in (known.removeprefix(b"W/") for known in _tags(given))

    def _list_header(self, name: bytes) -> bytes:
        """The lines of a header that is a list, joined as RFC 9110, 5.3 says."""
        if self._raw_header(name) is None:
            return b""
        return b", ".join(value for key, value in self.scope["headers"] if key == name)


def read_id(text: str) -> UUID:
    """A path's id; raises NotFound for every spelling of a UUID but its usual one, as for an id of nothing."""
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
        raise BadRequest("X-Tenant-Scope takes `all` or the id of a tenant.") from None


def _tags(given: bytes) -> list[bytes]:
    """The entity tags of a list; none of what is no list of them."""
    # no header has NUL, which stands for a tag here
    rest = _TAG.sub(b"\0", given).replace(b" ", b"").replace(b"\t", b"")
    return [] if rest.strip(b"\0,") or b"\0\0" in rest else _TAG.findall(given)


def _strong_version(tag: bytes) -> int:
    found = _VERSION.fullmatch(tag)
    return NO_VERSION if found is None else int(found[1])
