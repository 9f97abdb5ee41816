"""Sessions and repositories for users' own queries: one tenant's rows, living ones, in every way of asking."""

from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import sqlalchemy as sa
from advanced_alchemy.filters import LimitOffset, OrderBy
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import configure_mappers, joinedload, selectinload

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.own_queries.entity_classes import entity_classes
from adapters.postgres.own_queries.errors import OWN_QUERY_ERRORS, domain_error
from adapters.postgres.own_queries.repositories import orm_class, repository
from adapters.postgres.schema.row_security import ROLE
from adapters.postgres.schema.schema import metadata_for
from application.ports.entities.records import Act, NewRow
from domain.entities.catalogue import Category, Currency, Product, Review
from domain.entities.declaration import Registry
from domain.entities.registry import build_registry
from domain.errors import Conflict, Error, NotFound, SerializationConflict
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id, tenant
from tests.library import LIBRARY, Shelf

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
ACT = Act(by=None, at=NOW)
PRODUCT = {"description": None, "stock": 1, "status": "live", "released_at": None, "photo_id": None}

TABLES = ["categories", "products", "reviews"]


@pytest.fixture
async def rows(postgres: PostgresDatabase, registry: Registry) -> Mapping[OneTenant, Mapping[str, UUID]]:
    """A category with a lamp, a table and a deleted chair, and a review of the lamp, in each of two tenants."""
    made: dict[OneTenant, dict[str, UUID]] = {}
    for scope in (HERE, THERE):
        ids = made[scope] = {name: new_id() for name in ("category", "lamp", "table", "chair", "review")}
        async with postgres.transaction(EveryTenant()) as tx:
            await tx.tenants.add(tenant(id=scope.id))
        async with postgres.transaction(scope) as tx:
            category = NewRow(ids["category"], {"name": "Things", "description": None})
            await tx.records.add(registry["categories"], [category], ACT)
            products = [
                NewRow(ids[name], {**PRODUCT, "name": name, "sku": name.upper(), "price": price,
                                   "category_id": ids["category"]})
                for name, price in (("lamp", Decimal("10.50")), ("table", Decimal(90)), ("chair", Decimal(40)))
            ]  # fmt: skip
            await tx.records.add(registry["products"], products, ACT)
            review = {"product_id": ids["lamp"], "rating": 5, "author": "Ada", "text": None}
            await tx.records.add(registry["reviews"], [NewRow(ids["review"], review)], ACT)
            await tx.connection.execute(
                "UPDATE products SET is_deleted = true, deleted_at = now(), deleted_with = id WHERE id = $1",
                ids["chair"],
            )
    return made


Rows = Mapping[OneTenant, Mapping[str, UUID]]


@pytest.mark.parametrize("table", TABLES)
async def test_raw_sql_sees_one_tenant_in_each_transaction_of_a_session(
    rows: Rows, postgres: PostgresDatabase, table: str
) -> None:
    for scope, other in ((HERE, THERE), (THERE, HERE)):
        async with postgres.session(scope) as session:
            for end in (session.commit, session.rollback, session.commit):
                seen = await session.scalars(sa.text(f"SELECT DISTINCT tenant_id FROM {table}"))
                assert seen.all() == [scope.id]
                hidden = sa.text(f"SELECT count(*) FROM {table} WHERE tenant_id = :other")
                assert await session.scalar(hidden, {"other": other.id}) == 0
                async with session.begin_nested():
                    assert await session.scalar(hidden, {"other": other.id}) == 0
                await end()


async def test_a_connection_of_the_pool_refuses_statements_without_a_session(
    rows: Rows, postgres: PostgresDatabase
) -> None:
    async with postgres.session(HERE) as session:
        assert await session.scalar(sa.text("SELECT count(*) FROM products")) == 3
        engine = session.bind
    assert isinstance(engine, AsyncEngine)
    async with engine.connect() as connection:
        assert await connection.scalar(sa.text("SELECT current_user")) == ROLE
        with pytest.raises(sa.exc.DBAPIError, match="invalid input syntax for type uuid"):
            await connection.scalar(sa.text("SELECT count(*) FROM products"))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE categories SET tenant_id = :other",
        """INSERT INTO categories (tenant_id, id, name, created_at, updated_at, version)
        VALUES (:other, gen_random_uuid(), 'x', now(), now(), 1)""",
        """INSERT INTO reviews (tenant_id, id, product_id, rating, author, created_at, updated_at, version)
        SELECT :other, gen_random_uuid(), gen_random_uuid(), 1, 'x', now(), now(), 1""",
    ],
)
async def test_nothing_is_written_for_another_tenant(rows: Rows, postgres: PostgresDatabase, statement: str) -> None:
    async with postgres.session(HERE) as session:
        with pytest.raises(sa.exc.DBAPIError, match="row-level security"):
            await session.execute(sa.text(statement), {"other": THERE.id})


@pytest.mark.parametrize("statement", ["UPDATE products SET stock = 7", "DELETE FROM reviews"])
async def test_another_tenants_rows_are_not_changed(
    rows: Rows,
    postgres: PostgresDatabase,
    owner: "asyncpg.Connection[asyncpg.Record]",
    statement: str,
) -> None:
    count = "SELECT (SELECT count(*) FROM reviews), (SELECT sum(stock) FROM products) FROM tenants WHERE id = $1"
    async with postgres.session(HERE) as session:
        await session.execute(sa.text(statement))
        await session.commit()
    async with postgres.read_only(THERE) as read:
        (found,) = await read.connection.fetch(count, THERE.id)
    assert tuple(found) == (1, 3)


async def test_a_row_of_another_tenant_cannot_be_added_by_the_orm(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        session.add(orm_class(Category, session)(name="Theirs", tenant_id=THERE.id))
        with pytest.raises(sa.exc.DBAPIError, match="row-level security"):
            await session.flush()


async def test_classes_and_relations_show_one_tenants_living_rows(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        product, category = orm_class(Product, session), orm_class(Category, session)
        eager = sa.select(product).options(selectinload(product.reviews), selectinload(product.category))
        found = {row.name: row for row in await session.scalars(eager)}
        assert set(found) == {"lamp", "table"}
        assert [review.id for review in found["lamp"].reviews] == [rows[HERE]["review"]]
        assert found["lamp"].category.name == "Things"
        assert found["lamp"].price == Decimal("10.50")
        (things,) = await session.scalars(sa.select(category).options(selectinload(category.products)))
        assert {row.name for row in things.products} == {"lamp", "table"}
        reviewed = sa.select(product.name).join(product.reviews).where(orm_class(Review, session).rating == 5)
        assert (await session.scalars(reviewed)).all() == ["lamp"]
        assert await session.get(product, rows[HERE]["lamp"]) is found["lamp"]
        assert await session.get(product, rows[THERE]["lamp"]) is None


async def test_deleted_rows_are_hidden_unless_they_are_asked_for(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        product, category, chair = orm_class(Product, session), orm_class(Category, session), rows[HERE]["chair"]
        count = sa.select(sa.func.count()).select_from(product)
        assert await session.scalar(count) == 2
        assert await session.get(product, chair) is None
        assert await repository(Product, session).get_one_or_none(id=chair) is None
        assert await repository(Product, session).exists(id=chair) is False
        changed = await session.scalars(sa.update(product).values(stock=9).returning(product.name))
        assert set(changed) == {"lamp", "table"}
        names = ("id", "tenant_id", "name", "created_at", "updated_at", "version", "is_deleted")
        source = sa.select(*(getattr(product, name) for name in names))
        copied = sa.insert(category).from_select(names, source).returning(category.name)
        assert set(await session.scalars(copied)) == {"lamp", "table"}
        with_deleted = {"include_deleted": True}
        assert await session.scalar(count, execution_options=with_deleted) == 3
        assert (await session.get_one(product, chair, execution_options=with_deleted)).stock == 1


async def test_a_repository_counts_pages_and_orders(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        products = repository(Product, session)
        page, total = await products.get_many_and_count(LimitOffset(1, 0), OrderBy("price", "desc"))
        assert ([row.name for row in page], total) == (["table"], 2)
        page, total = await products.get_many_and_count(LimitOffset(1, 5), OrderBy("price", "desc"))
        assert (page, total) == ([], 2)


async def test_new_and_changed_rows_get_what_the_server_owns(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        categories = repository(Category, session)
        added = await categories.add(orm_class(Category, session)(name="Books"))
        await session.commit()
        assert (added.tenant_id, added.version, added.is_deleted) == (HERE.id, 1, False)
        assert added.created_at == added.updated_at
        added.name = "Old books"
        await session.commit()
        assert added.version == 2
        assert added.updated_at > added.created_at
    async with postgres.session(THERE) as session:
        assert await repository(Category, session).get_one_or_none(id=added.id) is None


async def test_a_repository_adds_many_and_changes_what_it_read(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        products, product = repository(Product, session), orm_class(Product, session)
        added = [product(name=f"n{n}", sku=f"SKU-{n}", price=n, stock=n, status="draft") for n in range(3)]
        await products.add_many(added)
        living = await products.get_many(product.stock == 1)
        for row in living:
            row.stock = 50
        await session.commit()
        assert await products.count(product.stock == 50) == 3
        names = await session.scalars(sa.select(product.name).where(product.stock == 50))
        assert set(names) == {"lamp", "n1", "table"}


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), NOW])
async def test_moments_are_stored_as_the_service_stores_them(
    rows: Rows, postgres: PostgresDatabase, moment: datetime
) -> None:
    async with postgres.session(HERE) as session:
        lamp = await session.get_one(orm_class(Product, session), rows[HERE]["lamp"])
        lamp.released_at = moment
        await session.commit()
        await session.refresh(lamp)
        assert lamp.released_at == moment
    async with postgres.read_only(HERE) as read:
        stored = "SELECT released_at FROM products WHERE id = $1"
        assert await read.connection.fetchval(stored, rows[HERE]["lamp"]) == moment


async def test_uncommitted_changes_of_a_session_are_discarded(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        await repository(Category, session).add(orm_class(Category, session)(name="Gone"))
    async with postgres.session(HERE) as session:
        assert await repository(Category, session).exists(name="Gone") is False


async def test_errors_have_a_meaning_in_the_domain(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        products, category = repository(Product, session), orm_class(Category, session)
        assert isinstance(await meaning(products.get(rows[THERE]["lamp"])), NotFound)
        missing = sa.select(category).where(category.name == "none")
        assert isinstance(await meaning(only_row(session, missing)), NotFound)
        assert isinstance(await meaning(repository(Category, session).add(category(name="things"))), Conflict)
        await session.rollback()
        assert isinstance(await meaning(session.execute(sa.text("UPDATE products SET category_id = id"))), Conflict)
        await session.rollback()
        assert await meaning(session.execute(sa.text("SELECT nothing FROM nowhere"))) is None
    changed = change_a_row_that_changed_meanwhile(postgres, rows[HERE]["lamp"])
    assert isinstance(await meaning(changed), SerializationConflict)
    with pytest.raises(LookupError, match="Shelf is not among the entities"):
        async with postgres.session(HERE) as session:
            orm_class(Shelf, session)


async def only_row(session: AsyncSession, statement: sa.Select[Any]) -> object:
    return (await session.scalars(statement)).one()


async def meaning(work: Awaitable[object]) -> Error | None:
    """What the error stands for, of those that an exception handler is registered for."""
    with pytest.raises(OWN_QUERY_ERRORS) as raised:
        await work
    return domain_error(raised.value)


async def change_a_row_that_changed_meanwhile(postgres: PostgresDatabase, lamp_id: UUID) -> None:
    async with postgres.session(HERE) as session:
        lamp = await session.get_one(orm_class(Product, session), lamp_id)
        await session.commit()
        async with postgres.transaction(HERE) as tx:
            await tx.connection.execute("UPDATE products SET version = version + 1")
        lamp.stock = 5
        await session.commit()


async def test_soft_deleted_entities_are_not_deleted_past_their_rules(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        product = orm_class(Product, session)
        with pytest.raises(TypeError, match="Rows of Product are deleted softly"):
            await repository(Product, session).delete(rows[HERE]["table"])
        await session.rollback()
        with pytest.raises(TypeError, match="Rows of Product are deleted softly"):
            await session.execute(sa.delete(product))
        await session.rollback()
        table = product.__table__
        gone = await session.scalars(sa.delete(table).where(table.c.name == "table").returning(table.c.id))
        assert gone.all() == [rows[HERE]["table"]]


async def test_a_deletion_with_a_subquery_selects_only_live_rows(
    rows: Rows, postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await owner.execute(
        "INSERT INTO currencies (id, code, name, created_at, updated_at, version)"
        " SELECT gen_random_uuid(), code, code, now(), now(), 1 FROM unnest(ARRAY['LAMP', 'CHAIR']) code"
    )
    async with postgres.session(HERE) as session:
        product, currency = orm_class(Product, session), orm_class(Currency, session)
        gone = sa.delete(currency).where(currency.code.in_(sa.select(product.sku))).returning(currency.code)
        assert (await session.scalars(gone)).all() == ["LAMP"]


async def test_rows_that_all_tenants_share_are_seen_by_each(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await owner.execute(
        "INSERT INTO currencies (id, code, name, created_at, updated_at, version)"
        " VALUES (gen_random_uuid(), 'EUR', 'Euro', now(), now(), 1)"
    )
    for scope in (HERE, THERE):
        async with postgres.session(scope) as session:
            assert [row.code for row in await repository(Currency, session).get_many()] == ["EUR"]


def test_an_entity_may_refer_to_itself() -> None:
    registry = build_registry(LIBRARY)
    shelf = entity_classes(registry, metadata_for(registry))["shelves"]
    configure_mappers()
    joined = str(sa.select(shelf).options(joinedload(shelf.inside)))
    assert joined.endswith(
        "ON shelves.inside_id = shelves_1.id AND shelves_1.tenant_id = shelves.tenant_id AND NOT shelves_1.is_deleted"
    )


async def test_a_process_can_hold_two_registries() -> None:
    for registry in (build_registry([Category, Product, Review]), build_registry([*LIBRARY])):
        made = entity_classes(registry, metadata_for(registry))
        assert set(made) == {model.plural for model in registry}
    configure_mappers()
