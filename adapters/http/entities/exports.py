"""Handler that sends the rows of an entity as a file."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Protocol

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.docs.files import TYPES, FileOperation
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_read, shape, typed
from adapters.http.request.export import Export
from adapters.http.request.rules import Parameter
from adapters.http.request.strict_request import StrictRequest
from application.entities.transfers.exports import FileExport
from application.ports.runtime import Clock
from domain.entities.query.values import NotAValue, read_boolean
from domain.errors import BadRequest, ValidationError
from domain.scope import Caller

_BOM = b"\xef\xbb\xbf"
FORMAT = Parameter(
    "format", {"type": "string", "enum": [*TYPES]}, "Wins over the header Accept; without both it is CSV."
)
BOM = Parameter(
    "bom", {"type": "boolean", "default": False}, "Begins CSV with the mark by which some programs know UTF-8."
)
ERRORS = ("VALIDATION_ERROR", "BAD_REQUEST")
TEXT = """A file of all rows that a list would have, as of one moment. Included rows are further columns such \
as `category.name`, in JSON objects. A transfer that does not end properly is not the whole file."""


ASKED_AGAIN = timedelta(seconds=10)
"""Time after which the rights of whoever takes a file are asked again: it may take an hour to be sent."""


class TokenJudge(Protocol):
    """Judge of a caller's token as it is now; see application/throttle.py."""

    async def ensure_alive(self, caller: Caller) -> None: ...


def export_handler(entity: ServedEntity, exporting: FileExport, rights: TokenJudge, clock: Clock) -> HTTPRouteHandler:
    model, queries = entity.model, entity.queries

    async def export(request: StrictRequest) -> Response[Any]:
        parameters = request.parameters()
        form = _form({name.lower(): text for name, text in parameters}, request.header(b"accept"))
        has_bom = _flag(parameters, "bom") and form == "csv"
        file = exporting.pieces(request.tenant_scope, model, queries.export(request.caller, parameters), form)
        pieces = _with_place(exporting, request, while_alive(request.caller, file, rights, clock))
        headers = {
            "content-disposition": f'attachment; filename="{model.plural}-{request.at:%Y-%m-%d}.{form}"',
            "cache-control": "no-store",
            "vary": "accept",
        }
        return Export(_marked(pieces) if has_bom else pieces, media_type=TYPES[form], headers=headers)

    return get(
        "/export",
        **entity_operation(
            model,
            "export",
            "Export {}",
            may_read(model),
            *ERRORS,
            parameters=lambda: (FORMAT, BOM, *entity.parameters.export()),
        ),
        description=TEXT,
        operation_class=FileOperation,
    )(typed(export, shape(f"{model.name}Export")))


async def _with_place(
    exporting: FileExport, request: StrictRequest, pieces: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """The file; the caller has a place until its end. Raises RateLimited before the first piece."""
    with exporting.places.taken(request.caller):
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece


async def while_alive(
    caller: Caller, pieces: AsyncGenerator[bytes, None], rights: TokenJudge, clock: Clock
) -> AsyncGenerator[bytes, None]:
    """The file, broken off once the caller was logged out or lost rights. Raises Unauthorized."""
    asked = clock.now()
    async with aclosing(pieces):
        async for piece in pieces:
            if (now := clock.now()) - asked >= ASKED_AGAIN:
                await rights.ensure_alive(caller)
                asked = now
            yield piece


async def _marked(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The pieces with the mark of UTF-8 before them, which an empty file has too."""
    try:
        yield _BOM + await anext(pieces, b"")
        async for piece in pieces:
            yield piece
    finally:
        await pieces.aclose()


def _form(parameters: dict[str, str], accept: str | None) -> str:
    """Raises BadRequest for a format that there is not."""
    given = parameters.get("format")
    if given is not None:
        if given.lower() not in TYPES:
            raise BadRequest(f"format takes one of: {', '.join(TYPES)}.")
        return given.lower()
    return _accepted(accept or "")


def _accepted(accept: str) -> str:
    """The format with the highest quality in ``Accept``, CSV where none is named."""
    forms = {kind: form for form, kind in TYPES.items()}
    wanted: list[tuple[float, int, str]] = []
    for place, part in enumerate(accept.split(",")):
        kind, *rest = (text.strip().lower() for text in part.split(";"))
        weight = next((text[2:] for text in rest if text.startswith("q=")), "1")
        if kind in forms and (quality := _number(weight)) > 0:
            wanted.append((-quality, place, forms[kind]))
    return min(wanted)[2] if wanted else "csv"


def _number(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() and text.isascii() else 0.0


def _flag(parameters: tuple[tuple[str, str], ...], name: str) -> bool:
    given = next((text for key, text in parameters if key.lower() == name), "false")
    try:
        return read_boolean(given)
    except NotAValue as error:
        raise ValidationError.on(name, str(error)) from None
