"""The request as handlers see it: Litestar's, with strict JSON and with what the pipeline learned of it."""

import re
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeAlias, cast
from uuid import UUID

from litestar.connection import Request
from litestar.params import PathParameter
from msgspec import Struct

from adapters.http.request.body import ensure_json, read_object, read_parameters
from domain.errors import BadRequest, Forbidden, NotFound, Unauthorized
from domain.forms import read_form
from domain.scope import Caller, Client, OneTenant, Scope

NO_VERSION = 0
PARSED = "parsed_json"

_CANONICAL = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


PathId: TypeAlias = Annotated[str, PathParameter(format="uuid")]
"""A path's id as it was sent; ``read_id`` makes a UUID of it, or 404."""


class RawBody(dict[str, object]):
    """A JSON object whose handler reads the fields itself, fractions kept as decimals.

    ``form`` is the struct that the document shows for it. Subclasses are made per entity by ``raw_body``.
    """

    form: ClassVar[type[Struct]]
    decimals: ClassVar[bool] = True


def raw_body(form: type[Struct], *, decimals: bool = True) -> Any:
    """The type for a handler's ``data`` that is documented as ``form`` and arrives as it was sent."""
    return type(form.__name__, (RawBody,), {"form": form, "decimals": decimals, "__module__": form.__module__})


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
            return kind(await self.read_object(decimals=kind.decimals))
        value = await self.read_object()
        return read_form(kind, value) if issubclass(kind, Struct) else value

    async def read_object(self, *, decimals: bool = False) -> dict[str, object]:
        """The body as a JSON object, parsed once even where a limit by e-mail looked at it before."""
        body = await self.body()
        ensure_json(self._raw_header(b"content-type"))
        state = self.scope["state"]
        if PARSED not in state:
            state[PARSED] = read_object(body, decimals)
        return cast(dict[str, object], state[PARSED])

    @property
    def caller(self) -> Caller:
        """Bearer of the token; raises Unauthorized in a handler that asks for none."""
        caller: Caller | None = self.scope.get("auth")
        if caller is None:
            raise Unauthorized
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

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Decoded pairs of the query, in order."""
        query = self.scope["query_string"]
        return read_parameters(query) if query else ()

    def header(self, name: bytes) -> str | None:
        value = self._raw_header(name)
        return None if value is None else value.decode("latin-1")

    def _raw_header(self, name: bytes) -> bytes | None:
        return cast(dict[bytes, bytes], self.scope["state"]["headers"]).get(name)

    def wanted_version(self) -> int | None:
        """Version in ``If-Match``, None when any will do; a tag of something else is the version of nothing."""
        given = (self._raw_header(b"if-match") or b"").strip()
        if given in (b"", b"*"):
            return None
        if b"," in given:
            raise BadRequest("If-Match takes one entity tag here.")
        version = _version(given)
        return NO_VERSION if version is None else version

    def has_version(self, version: int) -> bool:
        """True where ``If-None-Match`` says that the caller has this version already."""
        given = self._raw_header(b"if-none-match")
        if given is None:
            return False
        tags = [tag.strip() for tag in given.split(b",")]
        return any(tag == b"*" or _version(tag.removeprefix(b"W/")) == version for tag in tags)


def read_id(text: str) -> UUID:
    """A path's id; raises NotFound for every spelling of a UUID but its usual one, as for an id of nothing."""
    if _CANONICAL.fullmatch(text) is None:
        raise NotFound
    return UUID(text)


def _version(tag: bytes) -> int | None:
    digits = tag[1:-1]
    is_tag = len(tag) > 2 and tag[:1] == b'"' == tag[-1:]
    return int(digits) if is_tag and digits.isdigit() and len(digits) < 10 else None
