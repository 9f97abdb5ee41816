"""Operator and value of a filter, of the operator in its name and of its text."""

from collections.abc import Mapping

from domain.entities.declaration import ID, SERVER_OWNED, EntityModel, FieldModel
from domain.entities.kinds import Kind
from domain.entities.markers import MEMBERS
from domain.entities.query.kinds import PARTS, read_stored, read_value
from domain.entities.query.query import ME, Operator
from domain.entities.query.values import NotAValue, first_day_from, read_boolean, read_moment, split_list
from domain.entities.query.vocabulary import Filtered

MAX_VALUES = 200
Comparison = tuple[Operator, object]
_OF_USERS = tuple(field for field in SERVER_OWNED if field.name.endswith("_by"))


def read_comparison(filtered: Filtered, text: str) -> Comparison:
    """Raises NotAValue."""
    field = filtered.of.field
    if filtered.operator is Operator.IS_NULL:
        return Operator.IS_NULL, read_boolean(text)
    if field.kind is Kind.TIMESTAMP:
        return _compared_moment(filtered, text)
    if filtered.bound is not None:
        # ``releasedAfter=2026-11-20T12:00Z`` on a date means the days that begin at or after that moment.
        if field.kind is Kind.DATE and filtered.bound.suffix:
            return filtered.bound.operator, first_day_from(*read_moment(text))
        return filtered.bound.operator, read_value(field, text)
    read = read_value if filtered.operator is None else read_stored
    if holds_user(filtered.of.model, field):
        read = _read_user
    if filtered.operator is None or filtered.operator in (Operator.IN, Operator.ALL):
        # an operator that is spelled out finds rows with a value that the enum does not know any more
        values = tuple(read(field, value) for value in split_list(text, MAX_VALUES))
        is_one = filtered.operator is None and len(values) == 1 and field.kind is not Kind.LINKS
        return (Operator.EQ, values[0]) if is_one else (filtered.operator or Operator.IN, values)
    if filtered.operator in PARTS and not text:
        raise NotAValue("must be a text of at least one character")
    return filtered.operator, read(field, text)


def holds_user(model: EntityModel, field: FieldModel) -> bool:
    """Return whether the field holds the id of a user, so that a filter may name the caller as ``me``."""
    if field.server_owned:
        return field in _OF_USERS or (field is ID and model.plural == MEMBERS)
    return field.reference is not None and field.reference.target == MEMBERS


def _read_user(field: FieldModel, text: str) -> object:
    return ME if text.lower() == ME.value else read_value(field, text)


_NONE: Comparison = (Operator.IN, ())
_EVERY: Comparison = (Operator.IS_NULL, False)
_BEYOND: Mapping[Operator, Operator] = {
    Operator.GT: Operator.GT,
    Operator.GTE: Operator.GT,
    Operator.LT: Operator.LTE,
    Operator.LTE: Operator.LTE,
}
"""Comparison with the microsecond before a finer moment that holds for the same rows."""


def _compared_moment(filtered: Filtered, text: str) -> Comparison:
    """No row has a moment between two microseconds: it equals none, and is larger than the first of the two."""
    operator = filtered.bound.operator if filtered.bound is not None else filtered.operator
    if operator is None or operator is Operator.IN:
        read = [read_moment(value) for value in split_list(text, MAX_VALUES)]
        values = tuple(moment for moment, is_cut in read if not is_cut)
        return (Operator.EQ, values[0]) if operator is None and len(values) == 1 else (Operator.IN, values)
    moment, is_cut = read_moment(text)
    if not is_cut:
        return operator, moment
    if operator is Operator.EQ:
        return _NONE
    return _EVERY if operator is Operator.NE else (_BEYOND[operator], moment)
