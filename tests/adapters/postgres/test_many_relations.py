"""Filters through many relations are planned as quickly as those through a few."""

from adapters.postgres.entities.reading.select import page_shape
from adapters.postgres.entities.reading.select_rows import MOST_JOINED, count_statement, page_statement
from domain.entities.query.read_query import read_query
from tests.contracts.entities.test_records_wide import HERE, MODEL, REGISTRY, RELATIONS


def test_a_statement_joins_the_relations_of_its_first_filters_alone() -> None:
    """PostgreSQL tries the orders of joins: for thirty relations it planned for seconds, each of the first times."""
    asked = {f"way_{n}.{way}code": "a" for n in range(RELATIONS) for way in ("", "way_0.", "way_1.")}
    shape = page_shape(HERE, read_query(MODEL, REGISTRY, frozenset(), [("count", "none"), *asked.items()]))
    for statement in (page_statement, count_statement):
        text = statement(REGISTRY, MODEL, shape).text
        assert text.count("EXISTS") == 3 * RELATIONS
        assert text.count("EXISTS") - text.count("OFFSET 0") == MOST_JOINED


def test_filters_through_few_relations_are_joined() -> None:
    asked = [(f"way_{n}.code", "a") for n in range(MOST_JOINED)]
    shape = page_shape(HERE, read_query(MODEL, REGISTRY, frozenset(), asked))
    assert "OFFSET 0" not in count_statement(REGISTRY, MODEL, shape).text
