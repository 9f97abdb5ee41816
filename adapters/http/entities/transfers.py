"""Handlers that send the rows of an entity as a file, and take them from one."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from adapters.http.docs.files import TYPES, FileOperation, FormOperation
from adapters.http.entities.bodies import EntityBodies, ensure_no_parameters
from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.queries import EntityQueries
from adapters.http.entities.shapes import may_read, may_write, operation, shape, typed
from adapters.http.entities.uploads import LARGEST_FORM, options_of, uploaded
from adapters.http.request.export import Export, while_connected
from adapters.http.request.responses import EntityData, entity_data
from adapters.http.request.rules import Parameter
from adapters.http.request.strict_request import StrictRequest
from application.entities.transfers import FileTransfer
from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query
from domain.entities.query.values import NotAValue, read_boolean
from domain.entities.sheets import FILE_FORMS, MOST_ERRORS, Report, read_options
from domain.errors import BadRequest, FieldError, ValidationError

_BOM = b"\xef\xbb\xbf"
FORMAT = Parameter(
    "format", {"type": "string", "enum": [*TYPES]}, "Wins over the header Accept; without both it is CSV."
)
BOM = Parameter(
    "bom", {"type": "boolean", "default": False}, "Begins CSV with the mark by which some programs know UTF-8."
)
EXPORT_ERRORS = ("VALIDATION_ERROR", "BAD_REQUEST")
IMPORT_ERRORS = (*EXPORT_ERRORS, "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "UNPROCESSABLE_ENTITY")
EXPORT_TEXT = """A file of all rows that a list would have, as of one moment. Included rows are further columns such \
as `category.name`, in JSON objects. A transfer that does not end properly is not the whole file."""
IMPORT_TEXT = """CSV, xlsx or Parquet, up to 50 MiB and 200,000 rows. Rows that fail are reported and left out, rows \
whose unique value exists are skipped. `mode: upsert` needs `{update}` too."""


class Imported(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """``errors`` lists the first 1,000 rows that were left out, counted as a person sees them: the header is row 1."""

    imported: int
    skipped: int
    errors: list["RowErrorShown"]
    errors_truncated: bool = False


class RowErrorShown(Struct):
    """``message`` has all errors of the row, ``details`` has them apart; it is empty for a row that cannot be read."""

    row: int
    message: str
    details: list[FieldError]


@dataclass(frozen=True)
class EntityTransfers:
    """One entity with all that its files need; the factories below close over it."""

    model: EntityModel
    transfer: FileTransfer
    queries: EntityQueries
    bodies: EntityBodies

    async def pieces(self, request: StrictRequest, query: Query, form: str) -> AsyncGenerator[bytes, None]:
        """The file; the caller has a place until its end. Raises RateLimited before the first piece."""
        with self.transfer.places.taken(request.caller):
            async with aclosing(self._pieces(request, query, form)) as pieces:
                async for piece in pieces:
                    yield piece

    def _pieces(self, request: StrictRequest, query: Query, form: str) -> AsyncGenerator[bytes, None]:
        if (built := FILE_FORMS[form].built) is not None:
            return self.transfer.export_workbook(request.tenant_scope, self.model, query, built)
        return self.transfer.export(request.tenant_scope, self.model, query, "json" if form == "json" else "csv")


def transfer_handlers(entity: EntityTransfers) -> list[HTTPRouteHandler]:
    return [_export(entity), *([_import(entity)] if entity.model.declaration.writable else [])]


def _export(entity: EntityTransfers) -> HTTPRouteHandler:
    model, queries = entity.model, entity.queries

    async def export(request: StrictRequest) -> Response[Any]:
        parameters = request.parameters()
        form = _form({name.lower(): text for name, text in parameters}, request.header(b"accept"))
        has_bom = _flag(parameters, "bom") and form == "csv"
        pieces = entity.pieces(request, queries.export(request.caller, parameters), form)
        headers = {
            "content-disposition": f'attachment; filename="{model.plural}-{request.at:%Y-%m-%d}.{form}"',
            "cache-control": "no-store",
            "vary": "accept",
        }
        return Export(_marked(pieces) if has_bom else pieces, media_type=TYPES[form], headers=headers)

    return get(
        "/export",
        **operation(
            model,
            "export",
            "Export {}",
            may_read(model),
            *EXPORT_ERRORS,
            parameters=lambda: (FORMAT, BOM, *queries.export_parameters()),
        ),
        description=EXPORT_TEXT,
        operation_class=FileOperation,
    )(typed(export, shape(f"{model.name}Export")))


async def _marked(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The pieces with the mark of UTF-8 before them, which an empty file has too."""
    try:
        yield _BOM + await anext(pieces, b"")
        async for piece in pieces:
            yield piece
    finally:
        await pieces.aclose()


def _import(entity: EntityTransfers) -> HTTPRouteHandler:
    model, bodies = entity.model, entity.bodies

    async def import_(request: StrictRequest) -> Response[Any]:
        ensure_no_parameters(request)
        # A place is taken before the file comes: it would be written to the disk for nothing.
        with entity.transfer.places.taken(request.caller):
            async with uploaded(request) as upload:
                options = read_options(model, options_of(upload))
                if options.mode == "upsert":
                    request.caller.ensure_may(model.permission("update"))
                write, may = write_of(request, upload.digest), bodies.access(request.caller)
                importing = entity.transfer.import_(write, model, upload.file, options, may)
                written = await while_connected(request.receive, importing)
        body = msgspec.json.encode(_imported(written.answer))
        return entity_data(request, body, headers=replayed(written.is_replayed))

    return post(
        "/import",
        **operation(model, "import", "Import {}", may_write(model, "create"), *IMPORT_ERRORS, parameters=(KEY,)),
        status_code=200,
        description=IMPORT_TEXT.format(update=model.permission("update")),
        response_headers=[REPLAYED],
        request_max_body_size=LARGEST_FORM,
        operation_class=FormOperation,
    )(typed(import_, EntityData[Imported]))


def _imported(report: Report) -> dict[str, object]:
    told: dict[str, object] = {"imported": report.imported, "skipped": report.skipped, "errors": report.errors}
    return told | ({"errorsTruncated": True} if report.failed > MOST_ERRORS else {})


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
