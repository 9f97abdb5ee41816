"""/api/{entity}: one router per entity with its declared handlers, and one router for all entities."""

from litestar import Router
from litestar.handlers import HTTPRouteHandler

from adapters.http.docs.descriptions import descriptions_router
from adapters.http.entities.attachments.contents import content_handlers, linked_handler
from adapters.http.entities.attachments.files import files_router
from adapters.http.entities.batches import batch_handlers
from adapters.http.entities.changes.router import changes_router, entity_change_handlers
from adapters.http.entities.exports import export_handler
from adapters.http.entities.histories import history_handler
from adapters.http.entities.imports import import_handler
from adapters.http.entities.ownership.shares import share_handlers
from adapters.http.entities.parameters import described_parameters
from adapters.http.entities.reading.summaries import summary_handler
from adapters.http.entities.rows import row_handlers
from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.transactions.links import link_handlers
from adapters.http.entities.transactions.operations import operations_router
from adapters.http.entities.transactions.upserts import upsert_handler
from adapters.http.entities.webhooks.router import webhooks_router
from adapters.http.request.rules import rules
from adapters.http.routers import FreshRouter
from adapters.http.use_cases import UseCases
from application.entities.guarded_fields import GuardedFields
from application.entities.queries import EntityQueries
from application.entities.transactions.upserts import keys_for
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import EntityModel, Registry
from domain.scope import OneTenant


def entity_routers(services: UseCases) -> list[Router]:
    operations = operations_router(services.operations, services.registry)
    return [
        descriptions_router(services.descriptions),
        operations,
        *([files_router(services.file_uploads, services.registry)] if _has_files(services.registry) else []),
        webhooks_router(services),
        *(_router(services, model) for model in services.registry),
        changes_router(services),
    ]


def linked_files(services: UseCases) -> list[HTTPRouteHandler]:
    """Return the handler of links to files, which is outside of /api."""
    return [linked_handler(services.file_contents)] if _has_files(services.registry) else []


def _has_files(registry: Registry) -> bool:
    return any(model.attachments for model in registry)


def _router(services: UseCases, model: EntityModel) -> Router:
    entity = ServedEntity(
        model=model,
        queries=EntityQueries(model, services.registry),
        fields=GuardedFields(model, services.registry),
        parameters=described_parameters(model, services.registry),
    )

    async def cursor_in(scope: OneTenant) -> str:
        return await services.following.cursor(scope)

    return FreshRouter(
        f"/api/{model.plural}",
        route_handlers=[
            *row_handlers(entity, services.crud),
            *(batch_handlers(entity, services.batches) if model.declaration.writable else []),
            *(link_handlers(entity, services.crud) if model.links else []),
            *content_handlers(entity, services.file_contents),
            *([upsert_handler(entity, services.upserts)] if _has_upserts(model) else []),
            *([history_handler(entity, services.histories)] if model.declaration.history else []),
            *(entity_change_handlers(entity, services) if model.declaration.changes else []),
            *(share_handlers(entity, services.sharing) if model.declaration.shared else []),
            summary_handler(entity, services.summarizing),
            export_handler(entity, services.exporting, cursor_in),
            *([import_handler(entity, services.importing)] if model.declaration.writable else []),
        ],
        tags=[model.plural],
        opt=rules(area="B", takes_scope=True, any_query=False),
    )


def _has_upserts(model: EntityModel) -> bool:
    return model.declaration.writable and bool(keys_for(model, EVERY_FIELD))
