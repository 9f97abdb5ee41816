"""Parameters of a summary: accepted spellings, and messages for all others."""

import pytest

from domain.entities.catalogue import ENTITIES
from domain.entities.query.query import Path
from domain.entities.query.read_summary import read_summary
from domain.entities.query.summary import Function, Summary, Unit
from domain.entities.registry import build_registry
from domain.errors import ValidationError

REGISTRY = build_registry(ENTITIES)


def read(**asked: str) -> Summary:
    return read_summary(REGISTRY["products"], REGISTRY, frozenset(), asked.items())


def refused(**asked: str) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        read(**asked)
    return {error.field: error.message for error in caught.value.fields}


def test_without_parameters_all_rows_are_counted_in_one_group() -> None:
    summary = read()
    assert (summary.groups, summary.limit, summary.order) == ((), 100, ())
    assert [measure.function for measure in summary.measures] == [Function.COUNT]


def test_groups_and_measures_lead_through_to_one_relations_and_ignore_case() -> None:
    summary = read(
        group="Status, CATEGORY.name,created:Month", measures="count,SUM:price,avg:stock,distinct:category.id"
    )
    assert [(group.name, group.unit) for group in summary.groups] == [
        ("status", None),
        ("category.name", None),
        ("createdAt", Unit.MONTH),
    ]
    assert [(each.function.value, each.name, each.scale) for each in summary.measures] == [
        ("count", "", None),
        ("sum", "price", 2),
        ("avg", "stock", 4),
        ("distinct", "category.id", 0),
    ]
    paths = [key.path for key in summary.query.sort]
    assert paths[1] == Path(("category",), "name")
    assert len(paths) == 6


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ((0, False), (1, False))),
        ("count:desc", ((2, True), (0, False), (1, False))),
        ("sum:price:desc,status", ((3, True), (0, False), (1, False))),
        ("createdAt:month:desc", ((1, True), (0, False))),
        ("createdAt:DESC,sum:price", ((1, True), (3, False), (0, False))),
        ("count:Descending", ((2, True), (0, False), (1, False))),
    ],
)
def test_each_group_and_measure_can_be_sorted_by(sort: str, order: tuple[tuple[int, bool], ...]) -> None:
    asked = {"sort": sort} if sort else {}
    assert read(group="status,createdAt:month", measures="count,sum:price", **asked).order == order


@pytest.mark.promise("GET /api/{entities}/summary: errors name each wrong parameter and the remedy")
@pytest.mark.parametrize(
    ("asked", "field", "part"),
    [
        ({"group": "createdAt"}, "group", "needs one of these units: day, week, month, quarter, year"),
        ({"group": "createdAt:decade"}, "group", "needs one of these units"),
        ({"group": "status:day"}, "group", "accepts no unit"),
        ({"group": "price"}, "group", "is of the type decimal, which cannot be grouped by"),
        ({"group": "reviews.rating"}, "group", "leads to several rows"),
        ({"group": "colour"}, "group", "is not known"),
        ({"group": ""}, "group", "is not known"),
        ({"group": "createdAt:day,createdAt:month"}, "group", "names a property twice"),
        ({"group": "status,name,sku,categoryId"}, "group", "accepts at most 3 properties"),
        ({"measures": "median:price"}, "measures", "is not known: a measure is count, or one of"),
        ({"measures": "sum"}, "measures", "is not known"),
        ({"measures": "count:price"}, "measures", "count has no property"),
        ({"measures": "sum:name"}, "measures", "is of the type text, which sum does not accept"),
        ({"measures": "min:name"}, "measures", "is of the type text, which min does not accept"),
        ({"measures": "sum:price,SUM:price"}, "measures", "names a measure twice"),
        ({"measures": "max:reviews.rating"}, "measures", "leads to several rows"),
        ({"measures": ",".join(["count"] * 11)}, "measures", "accepts at most 10 measures"),
        ({"sort": "sum:price:desc"}, "sort", "'sum:price:desc' is not known"),
        ({"sort": "count,count:desc"}, "sort", "names a group or measure twice"),
        ({"limit": "1001"}, "limit", "must be a whole number from 1 to 1000"),
        ({"limit": "0"}, "limit", "must be a whole number from 1"),
        ({"page": "2"}, "page", "is not taken here"),
        ({"include": "category"}, "include", "is not taken here"),
        ({"fields": "name"}, "fields", "is not taken here"),
        ({"count": "none"}, "count", "is not taken here"),
        ({"colour": "red"}, "colour", "is not known"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_name(asked: dict[str, str], field: str, part: str) -> None:
    assert part in refused(**asked)[field]


def test_hidden_fields_do_not_exist_and_hide_their_relations() -> None:
    hidden = frozenset({("products", "category_id"), ("products", "price")})
    for asked in ({"group": "categoryId"}, {"group": "category.name"}, {"measures": "sum:price"}):
        with pytest.raises(ValidationError) as caught:
            read_summary(REGISTRY["products"], REGISTRY, hidden, asked.items())
        assert "is not known" in caught.value.fields[0].message


def test_filters_search_and_deleted_rows_are_those_of_the_list() -> None:
    summary = read(minPrice="3", search="lamp", includeDeleted="true")
    assert [condition.path.field for condition in summary.query.where] == ["price"]
    assert summary.query.search == ("lamp",)
    assert summary.query.view.include_deleted
