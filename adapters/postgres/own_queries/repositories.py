"""ORM class and repository of an entity, for the session that a request has."""

from typing import Any

from advanced_alchemy.repository import SQLAlchemyAsyncRepository
from msgspec import Struct
from sqlalchemy.ext.asyncio import AsyncSession

from adapters.postgres.own_queries.sessions import OwnQueries


class EntityRepository(SQLAlchemyAsyncRepository[Any]):
    """Repository over an entity's rows; a count is a statement of its own."""

    # by default advanced-alchemy counts in a window over all rows: slow, and 0 for a page past the end
    count_with_window_function = False


def orm_class(entity: type[Struct], session: AsyncSession) -> Any:
    """ORM class of an entity, for statements that ``session`` runs.

    >>> product = orm_class(Product, session)
    >>> await session.scalars(select(product).order_by(product.price))

    Raises LookupError for a struct that is not served as an entity.
    """
    own_queries: OwnQueries = session.info["own_queries"]
    for model in own_queries.registry:
        if model.struct is entity:
            return own_queries.classes[model.plural]
    raise LookupError(f"{entity.__name__} is not among the entities that are served.")


def repository(entity: type[Struct], session: AsyncSession) -> EntityRepository:
    """Repository of an entity; it lives as long as ``session``.

    >>> await repository(Product, session).get_many(LimitOffset(10, 0), OrderBy("price", "desc"))
    """
    kind = orm_class(entity, session)
    made: type[EntityRepository] = type(f"{kind.__name__}Repository", (EntityRepository,), {"model_type": kind})
    return made(session=session)
