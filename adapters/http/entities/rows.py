"""The endpoints of one row and of pages of them, whichever the entity is."""

from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from adapters.http.entities.bodies import Sending, ensure_no_parameters, read_flags
from adapters.http.entities.idempotency import KEY, replayed, write_of
from adapters.http.entities.queries import Asking, cursor_after
from adapters.http.request.body import ENTITY_BODY
from adapters.http.request.endpoint import Answer, Call, Endpoint, Method, Parameter, Policy, Shown, entity_limit, needs
from adapters.http.request.endpoint import super_admin as needs_super_admin
from adapters.http.request.paths import id_in, is_known, wanted_version
from adapters.http.request.responses import NO_CONTENT, entity_data, etag, location
from adapters.http.request.tenant_scope import Bypassing, reaching
from application.entities.crud import Crud
from application.ports.entities.records import Change, RowPage
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import Query

IF_MATCH = Parameter("If-Match", {"type": "string"}, "Only if this is still its version.", "header")
IF_NONE_MATCH = Parameter("If-None-Match", {"type": "string"}, "304 if this is still its version.", "header")


@dataclass(frozen=True)
class EntityEndpoints:
    model: EntityModel
    crud: Crud
    asking: Asking
    sending: Sending

    async def create(self, call: Call) -> Answer:
        caller, values = call.signed_in, self.sending.new(call)
        with self.sending.concealing(caller):
            written = await self.crud.create(write_of(call), self.model, values)
        stored = written.answer
        where = location(f"/api/{self.model.plural}/{stored.id}")
        headers = (where, etag(stored.version), *replayed(written.is_replayed))
        return entity_data(call, self.sending.shown(caller, stored.body), 201, headers)

    async def read(self, call: Call) -> Answer:
        view = self.asking.view(call.signed_in, call.parameters())
        stored = await self.crud.get(call.reach, self.model, id_in(call, "id"), view)
        tag = etag(stored.version)
        if not view.include and is_known(call, stored.version):
            return Answer(304, headers=(tag,))
        return entity_data(call, bytes(stored.body), headers=(tag,))

    async def page(self, call: Call) -> Answer:
        query = self.asking.query(call.signed_in, call.parameters())
        page = await self.crud.page(call.reach, self.model, query)
        return entity_data(call, page_body(query, page))

    async def update(self, call: Call) -> Answer:
        caller, values = call.signed_in, self.sending.changes(call)
        change = Change(id_in(call, "id"), values, wanted_version(call))
        with self.sending.concealing(caller):
            stored = await self.crud.update(write_of(call), self.model, change)
        return entity_data(call, self.sending.shown(caller, stored.body), headers=(etag(stored.version),))

    async def delete(self, call: Call) -> Answer:
        is_permanent = bool(read_flags(call, ("permanent",) if self.model.can_be_purged else ()))
        call.signed_in.ensure_may(self.model.permission("purge" if is_permanent else "delete"))
        remove = self.crud.purge if is_permanent else self.crud.delete
        await remove(write_of(call), self.model, id_in(call, "id"), wanted_version(call))
        return NO_CONTENT

    async def restore(self, call: Call) -> Answer:
        ensure_no_parameters(call)
        caller = call.signed_in
        with self.sending.concealing(caller):
            written = await self.crud.restore(write_of(call), self.model, id_in(call, "id"))
        stored = written.answer
        headers = (etag(stored.version), *replayed(written.is_replayed))
        return entity_data(call, self.sending.shown(caller, stored.body), headers=headers)


def page_body(query: Query, page: RowPage) -> bytes:
    """The specification's page around the store's own JSON."""
    total, size = page.total, query.page_size
    pages = None if total is None else -(-total // size)
    around: dict[str, object] = {
        "page": query.page,
        "pageSize": size,
        "totalCount": total,
        "totalPages": pages,
        "hasNextPage": page.has_next,
        "hasPreviousPage": query.page > 1,
    }
    if page.last is not None:
        around["nextCursor"] = cursor_after(query, page.last)
    if page.total_is_estimate:
        around["totalCountIsEstimate"] = True
    return b'{"items":' + bytes(page.items) + b"," + msgspec.json.encode(around)[1:]


class KeepingRows(Bypassing, Protocol):
    @property
    def registry(self) -> Registry: ...
    @property
    def crud(self) -> Crud: ...


def entities_endpoints(services: KeepingRows) -> list[Endpoint]:
    registry, crud = services.registry, services.crud
    made = (EntityEndpoints(model, crud, Asking(model, registry), Sending(model, registry)) for model in registry)
    return [reaching(services.cross_tenant_access, endpoint) for one in made for endpoint in entity_endpoints(one)]


def entity_endpoints(made: EntityEndpoints) -> list[Endpoint]:
    reading = [_page(made), _read(made)]
    if not made.model.declaration.writable:
        return reading
    restoring = [_restore(made)] if made.model.soft_delete else []
    return [*reading, _create(made), *_update(made), _delete(made), *restoring]


def may_write(model: EntityModel, action: str) -> Policy:
    """Rows that all tenants share are written by super-admins only."""
    permission = model.permission(action)
    return needs(permission) if model.tenant_owned else needs_super_admin(permission)


def _page(made: EntityEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="GET",
        path=f"/api/{model.plural}",
        run=made.page,
        policy=needs(model.permission("read")),
        limit=entity_limit(model.plural, "page"),
        area="B",
        operation=f"{model.plural}.page",
        tag=model.plural,
        summary=f"List {words(model.plural)}",
        shown=(Shown(200, "data", f"{model.name}Page"),),
        parameters=made.asking.page_parameters(),
        errors=("VALIDATION_ERROR", "BAD_REQUEST"),
    )


def _read(made: EntityEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="GET",
        path=f"/api/{model.plural}/{{id}}",
        run=made.read,
        policy=needs(model.permission("read")),
        limit=entity_limit(model.plural, "read"),
        area="B",
        operation=f"{model.plural}.read",
        tag=model.plural,
        summary=f"Read one of the {words(model.plural)}",
        shown=(Shown(200, "data", model.name, ("ETag",)), Shown(304, "none")),
        parameters=(*made.asking.view_parameters(), IF_NONE_MATCH),
        errors=("VALIDATION_ERROR",),
    )


def _create(made: EntityEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="POST",
        path=f"/api/{model.plural}",
        run=made.create,
        policy=may_write(model, "create"),
        limit=entity_limit(model.plural, "create"),
        area="B",
        operation=f"{model.plural}.create",
        tag=model.plural,
        summary=f"Create one of the {words(model.plural)}",
        shown=(Shown(201, "data", model.name, ("Location", "ETag", "Idempotent-Replayed")),),
        body=model.create_form,
        largest_body=ENTITY_BODY,
        parameters=(KEY,),
        errors=("CONFLICT", "UNPROCESSABLE_ENTITY"),
    )


def _update(made: EntityEndpoints) -> list[Endpoint]:
    """PATCH is PUT by another name, and shares its limit."""
    methods: tuple[Method, ...] = ("PUT", "PATCH")
    return [_update_by(made, method) for method in methods]


def _update_by(made: EntityEndpoints, method: Method) -> Endpoint:
    model = made.model
    return Endpoint(
        method=method,
        path=f"/api/{model.plural}/{{id}}",
        run=made.update,
        policy=may_write(model, "update"),
        limit=entity_limit(model.plural, "update"),
        area="B",
        operation=f"{model.plural}.{'update' if method == 'PUT' else 'patch'}",
        tag=model.plural,
        summary=f"Change one of the {words(model.plural)}",
        description="Fields sent change, fields left out stay; null clears one that may be null.",
        shown=(Shown(200, "data", model.name, ("ETag",)),),
        body=model.update_form,
        largest_body=ENTITY_BODY,
        parameters=(IF_MATCH,),
        errors=("CONFLICT", "PRECONDITION_FAILED", *rule_errors(model)),
    )


def _delete(made: EntityEndpoints) -> Endpoint:
    model = made.model
    policy, can_be_purged = may_write(model, "delete"), model.can_be_purged
    return Endpoint(
        method="DELETE",
        path=f"/api/{model.plural}/{{id}}",
        run=made.delete,
        policy=replace(policy, or_permission=model.permission("purge")) if can_be_purged else policy,
        limit=entity_limit(model.plural, "delete"),
        area="B",
        operation=f"{model.plural}.delete",
        tag=model.plural,
        summary=f"Delete one of the {words(model.plural)}",
        description="It is marked deleted." if model.soft_delete else "It is gone for good.",
        shown=(Shown(204, "none"),),
        parameters=(*([_permanent(model)] if can_be_purged else []), IF_MATCH),
        errors=("CONFLICT", "PRECONDITION_FAILED", "VALIDATION_ERROR"),
    )


def _permanent(model: EntityModel) -> Parameter:
    text = f"Deletes for good, deleted ones too. Needs `{model.permission('purge')}` instead."
    return Parameter("permanent", {"type": "boolean", "default": False}, text)


def _restore(made: EntityEndpoints) -> Endpoint:
    model = made.model
    return Endpoint(
        method="POST",
        path=f"/api/{model.plural}/{{id}}/restore",
        run=made.restore,
        policy=may_write(model, "delete"),
        limit=entity_limit(model.plural, "restore"),
        area="B",
        operation=f"{model.plural}.restore",
        tag=model.plural,
        summary=f"Bring one of the deleted {words(model.plural)} back",
        description="What its deletion took along comes back with it.",
        shown=(Shown(200, "data", model.name, ("ETag", "Idempotent-Replayed")),),
        parameters=(KEY,),
        errors=("CONFLICT", "VALIDATION_ERROR", "UNPROCESSABLE_ENTITY"),
    )


def rule_errors(model: EntityModel) -> tuple[str, ...]:
    return ("UNPROCESSABLE_ENTITY",) if model.has_rule else ()


def words(plural: str) -> str:
    return plural.replace("-", " ")
