"""Handler that writes rows of several entities, all or none."""

from collections.abc import Sequence
from typing import Annotated, Any, Union
from uuid import UUID

from litestar import Response, Router, post
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from adapters.http.entities.idempotency import KEY, REPLAYED, replayed, write_of
from adapters.http.entities.shapes import may_write, typed
from adapters.http.request.body import ENTITY_BODY
from adapters.http.request.responses import EntityData, entity_data
from adapters.http.request.rules import TENANT_TOKEN, operation, rules
from adapters.http.request.strict_request import StrictRequest, raw_body
from adapters.http.routers import FreshRouter
from application.entities.transactions.operations import Operations
from application.entities.transactions.reading import LONGEST_NAME, MEMBERS, MOST_OPERATIONS, Op
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import RowLimits
from domain.limits import Limit

LIMIT = Limit("operations", 60)
ERRORS = ("NOT_FOUND", "CONFLICT", "PRECONDITION_FAILED", "UNPROCESSABLE_ENTITY")
TEXT = """Runs the operations in order, all or none. `{"$id": "order"}` in a reference, link or `id` is the id of the \
earlier create with `"as": "order"`. Each operation needs the permission of its single-row form. The first kind of \
failure is reported, and names each failure, such as `operations[2].price`. The result of an operation is its row, \
and null for a deletion."""


class EarlierCreate(Struct, rename={"name": "$id"}):
    """The id of the row that an earlier create of the request makes."""

    name: str


class OperationResults(Struct):
    results: list[dict[str, Any] | None]


_ID = Annotated[UUID | EarlierCreate, Meta(description="The row's id.")]
_VERSION = Annotated[int, Meta(ge=1, lt=2**31)] | UnsetType | None
_VALUES = Annotated[dict[str, Any], Meta(description="As in the body of the single-row form.")]
_TYPES: dict[str, tuple[Any, ...]] = {
    "as": (Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)] | UnsetType, UNSET),
    "id": (_ID,),
    "version": (_VERSION, UNSET),
    "values": (_VALUES,),
}


def operations_router(operations: Operations, registry: Registry) -> Router:
    limits = RowLimits(registry, None)

    async def apply_operations(request: StrictRequest, data: Any) -> Response[Any]:
        caller = request.caller
        given = operations.read(caller, data, lambda model, action: may_write(model, action).ensure(caller))
        written = await operations.apply(write_of(request, request.row_scope(limits), await request.body()), given)
        pairs = zip(given, written.answer, strict=True)
        rows = [b"null" if row is None else each.fields.readable(caller, row.body) for each, row in pairs]
        body = b'{"results":[%b]}' % b",".join(rows)
        return entity_data(request, body, headers=replayed(written.is_replayed))

    handler = post(
        "/",
        **operation(
            "operations.apply", "Write rows of several entities, or none", TENANT_TOKEN, *ERRORS, parameters=(KEY,)
        ),
        status_code=200,
        description=TEXT,
        response_headers=[REPLAYED],
        request_max_body_size=ENTITY_BODY,
    )(typed(apply_operations, EntityData[OperationResults], raw_body(_form(registry))))
    opt = rules(area="B", limit=LIMIT, takes_scope=True, any_query=False)
    return FreshRouter("/api/operations", route_handlers=[handler], tags=["operations"], opt=opt)


def _form(registry: Registry) -> type[Struct]:
    """Return the struct that describes the body, with one form for each kind of operation."""
    writable = [model for model in registry if model.declaration.writable]
    forms = [_operation(op, [model for model in writable if op != "restore" or model.soft_delete]) for op in MEMBERS]
    kind = Annotated[list[Union[tuple(forms)]], Meta(min_length=1, max_length=MOST_OPERATIONS)]  # type: ignore[misc,valid-type]  # a tuple of types
    return defstruct("OperationsBody", [("operations", kind)])


def _operation(op: Op, models: Sequence[EntityModel]) -> type[Struct]:
    entity = Annotated[str, Meta(extra_json_schema={"enum": [model.plural for model in models]})]
    members: list[Any] = [("entity", entity), *((_name(name), *_TYPES[name]) for name in MEMBERS[op] if name in _TYPES)]
    return defstruct(
        f"{op.title()}Operation",
        members,
        kw_only=True,
        tag=op,
        tag_field="op",
        rename={"name": "as"},
        forbid_unknown_fields=True,
    )


def _name(member: str) -> str:
    # `as` is a keyword of Python.
    return "name" if member == "as" else member
