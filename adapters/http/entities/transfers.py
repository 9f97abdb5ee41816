"""The endpoints that send the rows of an entity as a file, and take them from one."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import msgspec
from msgspec import Struct

from adapters.http.bridge import KEY, Bypassing, reaching, replayed, write_of
from adapters.http.entities.bodies import EntityBodies, ensure_no_parameters
from adapters.http.entities.queries import EntityQueries
from adapters.http.entities.rows import may_write, words
from adapters.http.entities.uploads import options_of, uploaded
from adapters.http.request.endpoint import Answer, Call, Endpoint, Parameter, Shown, entity_limit, needs
from adapters.http.request.old_responses import entity_data
from adapters.http.request.streaming import begun
from domain.entities.bodies import Sendable
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import Query
from domain.entities.query.values import NotAValue, read_boolean
from domain.entities.sheets import MOST_ERRORS, Form, ImportOptions, Report, read_options
from domain.errors import BadRequest, ValidationError
from domain.scope import Scope

TYPES = {
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
}
_CHARSET = {"csv": "; charset=utf-8"}
_BOM = b"\xef\xbb\xbf"
FORMAT = Parameter("format", {"type": "string", "enum": [*TYPES], "default": "csv"}, "Wins over the header Accept.")
BOM = Parameter(
    "bom", {"type": "boolean", "default": False}, "Begins CSV with the mark by which some programs know UTF-8."
)


class Imported(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """``errors`` lists the first 1,000 rows that were left out, counted as a person sees them: the header is row 1."""

    imported: int
    skipped: int
    errors: list["RowErrorShown"]
    errors_truncated: bool = False


class RowErrorShown(Struct):
    row: int
    message: str


class Stored(Protocol):
    @property
    def answer(self) -> Report: ...
    @property
    def is_replayed(self) -> bool: ...


class Transfer(Protocol):
    """The use case; ``write`` is what write_of makes of a call."""

    def export(self, scope: Scope, model: EntityModel, query: Query, form: Form) -> AsyncGenerator[bytes, None]: ...

    def export_workbook(self, scope: Scope, model: EntityModel, query: Query) -> AsyncGenerator[bytes, None]: ...

    async def import_(
        self, write: Any, model: EntityModel, upload: BinaryIO, options: ImportOptions, may: Sendable
    ) -> Stored: ...


@dataclass(frozen=True)
class TransferEndpoints:
    model: EntityModel
    transfer: Transfer
    queries: EntityQueries
    bodies: EntityBodies

    async def export(self, call: Call) -> Answer:
        parameters = call.parameters()
        form = _form({name.lower(): text for name, text in parameters}, call.header(b"accept"))
        has_bom = _flag(parameters, "bom") and form == "csv"
        query = self.queries.export(call.signed_in, parameters)
        headers = self._headers(call, form)
        if call.method == "HEAD":
            return Answer(200, headers=headers)
        return Answer(200, await begun(self._pieces(call, query, form), _BOM if has_bom else b""), headers)

    def _pieces(self, call: Call, query: Query, form: str) -> AsyncGenerator[bytes, None]:
        if form == "xlsx":
            return self.transfer.export_workbook(call.reach, self.model, query)
        return self.transfer.export(call.reach, self.model, query, "json" if form == "json" else "csv")

    def _headers(self, call: Call, form: str) -> tuple[tuple[bytes, bytes], ...]:
        name = f"{self.model.plural}-{call.at:%Y-%m-%d}.{form}"
        return (
            (b"content-type", f"{TYPES[form]}{_CHARSET.get(form, '')}".encode()),
            (b"content-disposition", f'attachment; filename="{name}"'.encode()),
            (b"cache-control", b"no-store"),
            (b"vary", b"accept"),
        )

    async def import_(self, call: Call) -> Answer:
        ensure_no_parameters(call)
        async with uploaded(call) as upload:
            call.body = upload.digest
            options = read_options(self.model, options_of(upload))
            self._ensure_may(call, options)
            may = self.bodies.access(call.signed_in)
            written = await self.transfer.import_(write_of(call), self.model, upload.file, options, may)
        body = msgspec.json.encode(_imported(written.answer))
        return entity_data(call, body, headers=replayed(written.is_replayed))

    def _ensure_may(self, call: Call, options: ImportOptions) -> None:
        if options.mode == "upsert":
            call.signed_in.ensure_may(self.model.permission("update"))


def _imported(report: Report) -> dict[str, object]:
    said: dict[str, object] = {"imported": report.imported, "skipped": report.skipped, "errors": report.errors}
    return said | ({"errorsTruncated": True} if report.failed > MOST_ERRORS else {})


def _form(parameters: dict[str, str], accept: str | None) -> str:
    """Raises BadRequest for a format that there is not."""
    given = parameters.get("format")
    if given is not None:
        if given.lower() not in TYPES:
            raise BadRequest(f"format takes one of: {', '.join(TYPES)}.")
        return given.lower()
    return _accepted(accept or "")


def _accepted(accept: str) -> str:
    """The one that is wanted most, CSV where none is named."""
    forms = {kind: form for form, kind in TYPES.items()}
    wanted: list[tuple[float, int, str]] = []
    for place, part in enumerate(accept.split(",")):
        kind, *rest = (one.strip().lower() for one in part.split(";"))
        weight = next((one[2:] for one in rest if one.startswith("q=")), "1")
        if kind in forms and (quality := _number(weight)) > 0:
            wanted.append((-quality, place, forms[kind]))
    return min(wanted)[2] if wanted else "csv"


def _number(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() and text.isascii() else 0.0


def _flag(parameters: tuple[tuple[str, str], ...], name: str) -> bool:
    given = next((text for one, text in parameters if one.lower() == name), "false")
    try:
        return read_boolean(given)
    except NotAValue as error:
        raise ValidationError.on(name, str(error)) from None


class Transferring(Bypassing, Protocol):
    @property
    def registry(self) -> Registry: ...
    @property
    def transfer(self) -> Transfer: ...


def transfers_endpoints(services: Transferring) -> list[Endpoint]:
    registry = services.registry
    made = (
        TransferEndpoints(model, services.transfer, EntityQueries(model, registry), EntityBodies(model, registry))
        for model in registry
    )
    return [reaching(services.cross_tenant_access, endpoint) for one in made for endpoint in _endpoints(one)]


def _endpoints(made: TransferEndpoints) -> list[Endpoint]:
    return [_export(made), *([_import(made)] if made.model.declaration.writable else [])]


def _export(made: TransferEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="GET",
        path=f"/api/{model.plural}/export",
        run=made.export,
        policy=needs(model.permission("read")),
        limit=entity_limit(model.plural, "export"),
        area="B",
        operation=f"{model.plural}.export",
        tag=model.plural,
        summary=f"Export {words(model.plural)}",
        description=(
            "A file of all rows that a list would have, as of one moment. Included rows are further columns such as "
            "`category.name`, in JSON objects. A transfer that does not end properly is not the whole file."
        ),
        shown=(Shown(200, "bare", f"{model.name}Export", files=(TYPES["csv"], TYPES["xlsx"])),),
        parameters=(FORMAT, BOM, *made.queries.export_parameters()),
        errors=("VALIDATION_ERROR", "BAD_REQUEST"),
    )


def _import(made: TransferEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="POST",
        path=f"/api/{model.plural}/import",
        run=made.import_,
        policy=may_write(model, "create"),
        limit=entity_limit(model.plural, "import"),
        area="B",
        operation=f"{model.plural}.import",
        tag=model.plural,
        summary=f"Import {words(model.plural)}",
        description=(
            "CSV or xlsx, up to 50 MiB and 200,000 rows. Rows that fail are reported and left out, rows whose unique "
            f"value exists are skipped. `mode: upsert` needs `{model.permission('update')}` too."
        ),
        shown=(Shown(200, "data", Imported, ("Idempotent-Replayed",)),),
        form_data=_FORM,
        parameters=(KEY,),
        errors=(
            "VALIDATION_ERROR",
            "BAD_REQUEST",
            "PAYLOAD_TOO_LARGE",
            "UNSUPPORTED_MEDIA_TYPE",
            "UNPROCESSABLE_ENTITY",
        ),
    )


_TEXT = {"type": "string"}
_YES = {"type": "boolean", "default": False}
_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "contentMediaType": "application/octet-stream", "description": "CSV or xlsx."},
        "options": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "mode": {"type": "string", "enum": ["create", "upsert"], "default": "create"},
                "key": _TEXT | {"description": "The unique field by which an upsert finds the row that is there."},
                "atomic": _YES | {"description": "Any error stores nothing: 400 with the same list."},
                "dryRun": _YES | {"description": "Stores nothing, and reports what it would have."},
                "delimiter": _TEXT | {"minLength": 1, "maxLength": 1},
                "encoding": _TEXT | {"examples": ["utf-8", "windows-1252"]},
                "sheet": {"anyOf": [_TEXT, {"type": "integer", "minimum": 1}]},
                "columns": {
                    "type": "object",
                    "additionalProperties": _TEXT,
                    "description": "From a column of the file to the property that it stands for.",
                },
            },
        },
    },
}
