"""Laws of the query grammar, for any parameters (Hypothesis)."""

import string
from base64 import urlsafe_b64encode
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.entities.declaration import EntityModel, Hidden, Registry
from domain.entities.query.cursors import read_cursor, write_cursor
from domain.entities.query.parameters import QueryParameter, export_parameters_of, parameters_of, view_parameters_of
from domain.entities.query.query import Query, View, field_of
from domain.entities.query.read_query import read_export, read_query, read_view
from domain.entities.registry import build_registry
from domain.errors import BadRequest, ValidationError
from domain.scope import Rights
from tests.twins.drawing import Parameters, parameters
from tests.twins.everything import DECLARED

Listed = Callable[[EntityModel, Registry, Hidden], list[QueryParameter]]
Read = Callable[[EntityModel, Registry, Hidden, Parameters], Query | View]

REGISTRY = build_registry(DECLARED)
HIDDEN = REGISTRY.hidden_from(Rights((), is_super_admin=False))
MODEL = REGISTRY["things"]

settings = "page pageSize cursor count search sort sortBy sortOrder include fields includeDeleted".split()
operators = "eq in isNull contains".split()
words = st.sampled_from(
    [*MODEL.by_wire, *MODEL.relations, *settings, *operators, "minPrice", "dayBefore", "created", ""]
)
anything = st.text(st.characters(), max_size=30)
names = st.lists(words | anything, min_size=1, max_size=5).map(".".join)
texts = (
    anything | names | st.sampled_from(["1", "true", "2026-01-01", "9" * 400, "1e999", '"', '""', "a:desc,b", ",,,"])
)
given_by_anybody = st.lists(st.tuples(names, texts), max_size=70)


@given(asked=given_by_anybody)
def test_reading_raises_only_the_documented_errors(asked: Parameters) -> None:
    for read in (read_query, read_export, read_view):
        with suppress(ValidationError, BadRequest):
            read(MODEL, REGISTRY, HIDDEN, asked)


@given(
    asked=st.sampled_from([*REGISTRY]).flatmap(
        lambda model: parameters(REGISTRY, model, ("a", "B,c", 'q"q')).map(lambda p: (model, p))
    )
)
def test_names_match_without_case(asked: tuple[object, Parameters]) -> None:
    model = next(model for model in REGISTRY if model is asked[0])
    seen = REGISTRY.hidden_from(Rights(("*",), is_super_admin=False))
    shouted = [(name.upper(), text) for name, text in asked[1]]
    assert read_query(model, REGISTRY, seen, shouted) == read_query(model, REGISTRY, seen, asked[1])


@pytest.mark.promise("entities, details: BAD_REQUEST: not JSON, not an object, undecodable cursor")
@given(text=anything | st.text(string.ascii_letters + string.digits + "-_="))
def test_a_cursor_that_no_page_gave_is_refused(text: str) -> None:
    sort = read_query(MODEL, REGISTRY, HIDDEN, []).sort
    with pytest.raises(BadRequest):
        read_cursor(REGISTRY, MODEL, sort, text)


@pytest.mark.promise("entities, details: fields, cursor")
def test_a_cursor_belongs_to_one_order() -> None:
    by_day = read_query(MODEL, REGISTRY, HIDDEN, [("sort", "day")]).sort
    by_seen = read_query(MODEL, REGISTRY, HIDDEN, [("sort", "day:desc")]).sort
    cursor = write_cursor(by_day, [None, UUID(int=1)])
    assert read_cursor(REGISTRY, MODEL, by_day, cursor) == (None, UUID(int=1))
    with pytest.raises(BadRequest):
        read_cursor(REGISTRY, MODEL, by_seen, cursor)


@pytest.mark.promise("entities, details: BAD_REQUEST: not JSON, not an object, undecodable cursor")
@pytest.mark.parametrize("cut", [[0], [1], [7], [-9], [0, 1, 2, 3]])
def test_a_cursor_that_cuts_another_value_than_a_text_is_refused(cut: list[int]) -> None:
    by_day = read_query(MODEL, REGISTRY, HIDDEN, [("sort", "day")]).sort
    content = ["day,id", [None, str(UUID(int=1))], cut]
    with pytest.raises(BadRequest):
        read_cursor(REGISTRY, MODEL, by_day, urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("="))


@pytest.mark.parametrize(
    ("listed", "read"),
    [(parameters_of, read_query), (view_parameters_of, read_view), (export_parameters_of, read_export)],
)
def test_every_parameter_that_is_listed_is_known(listed: Listed, read: Read) -> None:
    for model in REGISTRY:
        for parameter in listed(model, REGISTRY, HIDDEN):
            assert quote(parameter.name) == parameter.name
            assert wrong(read, model, [(parameter.name, "1")]).isdisjoint({"is not known", "is not taken here"})


def wrong(read: Read, model: EntityModel, asked: Parameters) -> set[str]:
    """Messages of the errors, without the hints in them."""
    try:
        read(model, REGISTRY, HIDDEN, asked)
    except ValidationError as error:
        return {detail.message.partition(";")[0] for detail in error.fields}
    except BadRequest:
        return set()
    return set()


def test_a_query_speaks_of_fields_that_exist() -> None:
    query: Query = read_query(MODEL, REGISTRY, HIDDEN, [("whole.unit.label", "a"), ("sort", "unit.label")])
    paths = [*(condition.path for condition in query.where), *(key.path for key in query.sort)]
    assert [field_of(REGISTRY, MODEL, path).wire for path in paths] == ["label", "label", "id"]
