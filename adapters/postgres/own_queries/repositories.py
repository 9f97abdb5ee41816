"""ORM class and repository of an entity, for the session of a request."""

from typing import Any

from advanced_alchemy.repository import SQLAlchemyAsyncRepository
from msgspec import Struct
from sqlalchemy.ext.asyncio import AsyncSession

from adapters.postgres.own_queries.sessions import OwnQueries


class EntityRepository(SQLAlchemyAsyncRepository[Any]):
    """Repository of an entity's rows; a count is a separate statement."""

    # By default advanced-alchemy counts in a window over all rows: slow, and 0 for a page past the end.
    count_with_window_function = False


def orm_class(entity: type[Struct], session: AsyncSession) -> Any:
    """Return the ORM class of an entity, for statements of ``session``.

    >>> product = orm_class(Product, session)
    >>> await session.scalars(select(product).order_by(product.price))

    Raises LookupError for a struct that is not an entity.
    """
    own_queries: OwnQueries = session.info["own_queries"]
    for model in own_queries.registry:
        if model.struct is entity:
            return own_queries.classes[model.plural]
    raise LookupError(f"{entity.__name__} is not among the entities that are served.")


def repository(entity: type[Struct], session: AsyncSession) -> EntityRepository:
    """Return the repository of an entity; it lives as long as ``session``.

    >>> await repository(Product, session).get_many(LimitOffset(10, 0), OrderBy("price", "desc"))
    """
    kind = orm_class(entity, session)
    made: type[EntityRepository] = type(f"{kind.__name__}Repository", (EntityRepository,), {"model_type": kind})
    return made(session=session)
