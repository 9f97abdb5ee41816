"""Handler that exports an entity's rows as a file."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Operation

from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_read, shape, typed
from adapters.http.request.export import Export
from adapters.http.request.quality_values import weights
from adapters.http.request.rules import Parameter
from adapters.http.request.strict_request import StrictRequest
from application.entities.transfers.exports import CallersExport
from domain.entities.query.values import read_flags
from domain.entities.sheets import FILE_FORMS
from domain.errors import BadRequest
from domain.scope import OneTenant

TYPES = {name: form.media_type for name, form in FILE_FORMS.items()}
_BOM = b"\xef\xbb\xbf"
FORMAT = Parameter(
    "format", {"type": "string", "enum": [*TYPES]}, "Wins over the header Accept; without both it is CSV."
)
BOM = Parameter(
    "bom", {"type": "boolean", "default": False}, "Begins CSV with the mark by which some programs know UTF-8."
)
TEXT = """A file of all rows that a list would have, as of one moment. Included rows are further columns such \
as `category.name`, in JSON objects. A transfer that does not end properly is not the whole file."""


class FileOperation(Operation):
    """An export in the OpenAPI document: JSON rows have a schema, other formats are text."""

    def to_schema(self) -> dict[str, Any]:
        described = super().to_schema()
        response = described["responses"]["200"]
        in_json = next(iter(response["content"].values()))
        files = {kind: {"schema": {"type": "string"}} for kind in TYPES.values() if kind != TYPES["json"]}
        response["content"] = files | {TYPES["json"]: in_json}
        return described


def export_handler(
    entity: ServedEntity, exporting: CallersExport, cursor_in: Callable[[OneTenant], Awaitable[str]]
) -> HTTPRouteHandler:
    """``cursor_in`` returns the cursor of the feed at the moment."""
    model, queries = entity.model, entity.queries

    async def export(request: StrictRequest) -> Response[Any]:
        parameters = request.parameters()
        form = _form({name.lower(): text for name, text in parameters}, request.header(b"accept"))
        flags = read_flags([given for given in parameters if given[0].lower() == "bom"], ["bom"])
        has_bom = bool(flags) and form == "csv"
        query, scope = queries.export(request.caller, parameters), entity.scope(request)
        # Read the cursor before the rows: a change in between arrives twice instead of never.
        cursor = {}
        if form == "json" and model.declaration.changes and isinstance(scope, OneTenant):
            cursor["x-changes-cursor"] = await cursor_in(scope)
        pieces = exporting.pieces(request.caller, scope, model, query, form)
        headers = {
            "content-disposition": f'attachment; filename="{model.plural}-{request.at:%Y-%m-%d}.{form}"',
            "cache-control": "no-store",
            "vary": "accept",
            **cursor,
        }
        return Export(_marked(pieces) if has_bom else pieces, media_type=TYPES[form], headers=headers)

    return get(
        "/export",
        **entity_operation(
            model,
            "export",
            "Export {}",
            may_read(model),
            parameters=lambda: (FORMAT, BOM, *entity.parameters.export()),
        ),
        description=TEXT,
        operation_class=FileOperation,
    )(typed(export, shape(f"{model.name}Export")))


async def _marked(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Add a byte order mark, also to an empty file."""
    try:
        yield _BOM + await anext(pieces, b"")
        async for piece in pieces:
            yield piece
    finally:
        await pieces.aclose()


def _form(parameters: dict[str, str], accept: str | None) -> str:
    """Raises BadRequest for an unknown format."""
    given = parameters.get("format")
    if given is not None:
        if given.lower() not in TYPES:
            raise BadRequest(f"format must be one of: {', '.join(TYPES)}.")
        return given.lower()
    return _accepted(accept)


def _accepted(accept: str | None) -> str:
    """Return the format with the highest weight in ``Accept``; of equal weights the most specific, then the first; CSV
    by default.

    Example: ``application/*`` selects xlsx.
    """
    asked = {kind: (weight, -place) for place, (kind, weight) in enumerate(weights(accept))}
    ranks: dict[str, tuple[float, int, int]] = {}
    for form, kind in TYPES.items():
        # The most specific range gives the weight of a type (RFC 9110, 12.5.1).
        covering = [given for given in (kind, f"{kind.partition('/')[0]}/*", "*/*") if given in asked]
        if covering and (weight := asked[covering[0]][0]) > 0:
            ranks[form] = (weight, -covering[0].count("*"), asked[covering[0]][1])
    return max(ranks, key=lambda form: ranks[form], default="csv")
