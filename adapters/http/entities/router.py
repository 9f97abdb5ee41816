"""/api/{entity}: one router per entity, with the handlers that its declaration asks for."""

from litestar import Router

from adapters.http.entities.batches import EntityBatches, batch_handlers
from adapters.http.entities.bodies import EntityBodies
from adapters.http.entities.histories import EntityHistories, history_handlers
from adapters.http.entities.queries import EntityQueries
from adapters.http.entities.rows import EntityRows, row_handlers
from adapters.http.entities.transfers import EntityTransfers, transfer_handlers
from adapters.http.request.rules import rules
from adapters.http.use_cases import UseCases
from domain.entities.declaration import EntityModel


def entity_routers(services: UseCases) -> list[Router]:
    return [_router(services, model) for model in services.registry]


def _router(services: UseCases, model: EntityModel) -> Router:
    queries, bodies = EntityQueries(model, services.registry), EntityBodies(model, services.registry)
    return Router(
        f"/api/{model.plural}",
        route_handlers=[
            *row_handlers(EntityRows(model, services.crud, queries, bodies)),
            *batch_handlers(EntityBatches(model, services.batches, bodies)),
            *history_handlers(EntityHistories(model, services.histories, queries)),
            *transfer_handlers(EntityTransfers(model, services.transfer, queries, bodies)),
        ],
        tags=[model.plural],
        opt=rules(area="B", takes_scope=True),
    )
