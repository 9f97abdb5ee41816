"""Handler that imports rows of an entity from a file."""

from typing import Any

import msgspec
from litestar import Response, post
from litestar.handlers import HTTPRouteHandler
from msgspec import UNSET, Struct, UnsetType

from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_write
from adapters.http.entities.uploads import LARGEST_FORM, options_of, uploaded
from adapters.http.request.export import while_connected
from adapters.http.request.responses import EntityData, entity_data
from adapters.http.request.strict_request import StrictRequest
from application.entities.transfers.imports import FileImport, Report
from domain.entities.files.options import LAST_HEADER_ROW, read_options
from domain.entities.sheets import MOST_ERRORS, FileHeader
from domain.errors import FieldError

ERRORS = ("PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "UNPROCESSABLE_ENTITY")
TEXT = """CSV, xlsx or Parquet, up to 50 MiB and 200,000 rows. Rows that fail are reported and left out, rows \
whose unique value exists are skipped. `mode: upsert` needs `{update}` too."""


_TEXT = {"type": "string"}
_YES = {"type": "boolean"}
IMPORT_FORM: dict[str, Any] = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "contentMediaType": "application/octet-stream",
            "description": "CSV, xlsx or Parquet.",
        },
        "options": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "mode": {"type": "string", "enum": ["create", "upsert"], "description": 'Default: `"create"`.'},
                "key": _TEXT | {"description": "The unique field by which an upsert finds rows; a column of the file."},
                "atomic": _YES | {"description": "Any error stores nothing: 400 with the same list. Default: `false`."},
                "dryRun": _YES | {"description": "Stores nothing; reports the header and the rows. Default: `false`."},
                "delimiter": _TEXT | {"minLength": 1, "maxLength": 1},
                "encoding": _TEXT | {"examples": ["utf-8", "windows-1252"]},
                "sheet": {"anyOf": [_TEXT, {"type": "integer", "minimum": 1}]},
                "timeZone": _TEXT
                | {"description": "Zone of date cells; UTC without it.", "examples": ["Europe/Berlin"]},
                "decimal": {
                    "type": "string",
                    "enum": [".", ","],
                    "description": "Decimal sign of numbers in texts; with `,`, points group thousands. Without it: "
                    "`.`, and an integer such as `1.000` is an error.",
                },
                "dateFormat": _TEXT
                | {
                    "description": "Order and separator of dates; dates such as 2026-11-22 are read too.",
                    "examples": ["DD.MM.YYYY", "MM/DD/YYYY"],
                },
                "headerRow": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": LAST_HEADER_ROW,
                    "description": "Number of the row with the names; without it the first that holds anything.",
                },
                "columns": {
                    "type": "object",
                    "additionalProperties": {"type": ["string", "null"]},
                    "description": "From a column of the file to the property that it stands for; null leaves it out.",
                },
            },
        },
    },
}
FORM = {
    "multipart/form-data": {
        "schema": {"$ref": "#/components/schemas/ImportForm"},
        "encoding": {"options": {"contentType": "application/json"}},
    }
}


class Imported(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Result of an import; ``errors`` and ``skippedRows`` list the first 1,000 rows. The header of a file is row 1.

    A dry run reports ``header``, and reports a header error as an error of the header's row.
    """

    imported: int
    skipped: int
    errors: list["RowErrorShown"]
    errors_truncated: bool = False
    skipped_rows: list[int] = []
    header: FileHeader | UnsetType = UNSET


class RowErrorShown(Struct):
    """An omitted row. ``message`` has all its errors, ``details`` each error; an unreadable row has no ``details``."""

    row: int
    message: str
    details: list[FieldError]


def import_handler(entity: ServedEntity, importing: FileImport) -> HTTPRouteHandler:
    model, fields = entity.model, entity.fields

    async def import_(request: StrictRequest) -> Response[EntityData[Imported]]:
        # Reserve the slot before receiving the file, which would otherwise be stored in vain.
        with importing.slots.taken(request.caller):
            async with uploaded(request) as upload:
                may = fields.access(request.caller)
                options = read_options(model, options_of(upload), may)
                if options.mode == "upsert":
                    request.caller.ensure_may(*model.permissions("update"))
                write = write_of(request, entity.scope(request), upload.digest)
                storing = importing.import_(write, model, upload.file, options, may)
                written = await while_connected(request.receive, storing)
        body = msgspec.json.encode(_imported(written.answer))
        return entity_data(request, body, headers=replayed(written.is_replayed))

    return post(
        "/import",
        **entity_operation(
            model, "import", "Import {}", may_write(model, "create"), *ERRORS, parameters=(KEY,), form=FORM
        ),
        status_code=200,
        description=TEXT.format(update=model.permission("update")),
        response_headers=[REPLAYED],
        request_max_body_size=LARGEST_FORM,
    )(import_)


def _imported(report: Report) -> dict[str, object]:
    told: dict[str, object] = {"imported": report.imported, "skipped": report.skipped, "errors": report.errors}
    told |= {"skippedRows": report.skipped_rows} if report.skipped_rows else {}
    told |= {"header": report.header} if report.header is not None else {}
    return told | ({"errorsTruncated": True} if report.failed > MOST_ERRORS else {})
