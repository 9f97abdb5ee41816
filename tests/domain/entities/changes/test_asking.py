"""Parameters and cursors of the feed."""

from base64 import urlsafe_b64encode

import pytest

from domain.entities.changes.asking import read_entity_feed, read_feed
from domain.entities.changes.cursors import FeedCursor, read_feed_cursor, write_feed_cursor
from domain.errors import BadRequest, ValidationError
from tests.contracts.entities.changes.followed_entities import REGISTRY

CARDS = REGISTRY["cards"]
CURSOR = FeedCursor("0af3d9c1", 42, 7)


def test_a_cursor_is_read_as_it_was_written() -> None:
    assert read_feed_cursor(write_feed_cursor(CURSOR)) == CURSOR
    longest = FeedCursor("ffffffff", 10**19 - 1, 10**19 - 1)
    assert read_feed_cursor(write_feed_cursor(longest)) == longest
    assert len(write_feed_cursor(longest)) <= 120


@pytest.mark.promise("entities, changes: Cursors that the service has not written are refused")
@pytest.mark.parametrize(
    "content",
    [
        "",
        "0af3d9c1.1",
        "0af3d9c1.1.1.1",
        "0af3d9c1.01.1",
        "0af3d9c1.-1.1",
        "0AF3D9C1.1.1",
        "0af3d9c1.1.\u0661",
        "x" * 99,
    ],
)
def test_other_cursors_are_refused(content: str) -> None:
    with pytest.raises(BadRequest):
        read_feed_cursor(urlsafe_b64encode(content.encode()).rstrip(b"=").decode())


@pytest.mark.parametrize("text", ["!", "MGFmM2Q5YzEuNDIuNw==", "MGFmM2Q5YzEuNDIuNx", "a" * 10_000, "é"])
def test_texts_that_are_not_the_base64_of_a_cursor_are_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        read_feed_cursor(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("limit", "0"),
        ("limit", "1001"),
        ("limit", "many"),
        ("wait", "26"),
        ("wait", "-1"),
        ("search", "x"),
        ("sort", "title"),
        ("include", "board"),
        ("board.name", "x"),
        ("unknown", "x"),
    ],
)
def test_wrong_parameters_of_an_entity_are_named(name: str, text: str) -> None:
    with pytest.raises(ValidationError) as raised:
        read_entity_feed(CARDS, REGISTRY, frozenset(), [(name, text)])
    assert [wrong.field for wrong in raised.value.fields] == [name]


def test_filters_on_hidden_fields_are_refused() -> None:
    with pytest.raises(ValidationError):
        read_entity_feed(CARDS, REGISTRY, frozenset({("cards", "secret")}), [("secret", "x")])


def test_named_entities_need_a_feed() -> None:
    asked, named = read_feed(REGISTRY, [("entities", "cards,labels"), ("limit", "5"), ("wait", "1")])
    assert (asked.limit, asked.wait, asked.after, named) == (5, 1, None, ("cards", "labels"))
    with pytest.raises(ValidationError) as raised:
        read_feed(REGISTRY, [("entities", "helpers"), ("sort", "x"), ("limit", "0")])
    assert [wrong.field for wrong in raised.value.fields] == ["sort", "limit", "entities"]
    assert "colours, labels, boards, cards, steps, tickets" in raised.value.fields[-1].message
