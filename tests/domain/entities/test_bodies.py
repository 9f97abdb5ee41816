"""Bodies of one row and of many: fields that a caller may send, and the errors of the others."""

from contextlib import suppress
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from domain.entities.bodies import (
    EVERY_FIELD,
    FieldAccess,
    field_access,
    read_changed_items,
    read_changes_from,
    read_ids,
    read_items,
    read_new_from,
)
from domain.entities.markers import entity, guarded
from domain.entities.registry import build_registry
from domain.errors import FieldError, Forbidden, ValidationError
from tests.library import LIBRARY

VOLUMES = build_registry(LIBRARY)["volumes"]
CLERK = field_access(VOLUMES, ["update:volumes"])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.uuids().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "title", "code", "x"]), inner),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from(["items", "ids", "x"]), JSON | st.lists(JSON, max_size=4), max_size=2)


def fields(error: pytest.ExceptionInfo[Any]) -> list[str]:
    return [detail.field for detail in error.value.fields]


@given(BODIES)
def test_whatever_is_sent_is_read_or_refused(body: dict[str, object]) -> None:
    for read in (
        lambda: read_items(body, lambda item: read_new_from(VOLUMES, item, CLERK)),
        lambda: read_changed_items(body, lambda item: read_changes_from(VOLUMES, item, CLERK)),
        lambda: read_ids(body),
    ):
        with suppress(ValidationError, Forbidden):
            read()


def test_what_holders_of_permissions_may_send() -> None:
    assert (CLERK.unknown, CLERK.closed) == (frozenset({"code"}), frozenset({"cost"}))
    assert field_access(VOLUMES, ["read:codes"]) == FieldAccess(frozenset(), frozenset({"cost"}))
    assert not field_access(VOLUMES, ["*"])
    assert field_access(build_registry(LIBRARY)["shelves"], []) is EVERY_FIELD


def test_a_field_with_both_permissions_is_sent_by_whoever_may_write_it() -> None:
    @entity("safes")
    class Safe(Struct):
        code: Annotated[str, guarded(read="read:codes", write="write:codes")] = ""

    safes = build_registry([Safe])["safes"]
    assert field_access(safes, []) == FieldAccess(frozenset({"code"}), frozenset())
    assert field_access(safes, ["read:codes"]) == FieldAccess(frozenset(), frozenset({"code"}))
    for permissions in (["write:codes"], ["read:codes", "write:codes"]):
        assert field_access(safes, permissions) == FieldAccess()


def test_a_hint_never_names_what_does_not_exist() -> None:
    with pytest.raises(ValidationError) as error:
        read_changes_from(VOLUMES, {"codes": "x", "titel": "y", "code": "z"}, CLERK)
    assert error.value.fields == (
        FieldError("codes", "is not known; did you mean 'cost'?"),
        FieldError("titel", "is not known; did you mean 'title'?"),
        FieldError("code", "is not known"),
    )


def test_a_required_field_that_may_not_be_sent_is_forbidden() -> None:
    with pytest.raises(Forbidden):
        read_new_from(VOLUMES, {}, FieldAccess(frozenset({"title"})))
    with pytest.raises(Forbidden):
        read_new_from(VOLUMES, {}, FieldAccess(closed=frozenset({"title"})))
    with pytest.raises(ValidationError) as error:
        read_new_from(VOLUMES, {"condition": "odd"}, FieldAccess(frozenset({"title"})))
    assert fields(error) == ["condition"]
