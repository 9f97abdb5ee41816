"""Names, columns and widgets of an entity on screens: declared or derived."""

import re
from collections.abc import Sequence

from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.kinds import Kind
from domain.entities.markers import WidgetName

COLUMNS = 6
"""Maximum number of table columns by default."""

LONG_TEXT = 500
"""Minimum length of text for a multi-line editor. Such a text is not a column by default."""

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def entity_title(model: EntityModel) -> str:
    """Return the declared title, or the words of the plural: ``price-lists`` is "Price lists"."""
    return model.declaration.title or _sentence(model.plural)


def field_title(field: FieldModel) -> str:
    """Return the label, or the words of the name: ``released_at`` is "Released at"."""
    if field.label is not None:
        return field.label
    name = re.sub("(?:_id|Id)$", "", field.name) if field.reference is not None else field.name
    return _sentence(name or field.name)


def display_of(model: EntityModel, visible: Sequence[FieldModel]) -> FieldModel | None:
    """Return the field that names a row, or None. Only ``visible`` fields count.

    It is the declared field, else the first text field, preferably one with a single-field unique constraint.
    """
    wanted = next((field for field in visible if field.name == model.declaration.display), None)
    texts = [field for field in visible if field.kind is Kind.TEXT]
    alone = {unique.fields[0] for unique in model.unique if len(unique.fields) == 1}
    unique_text = next((field for field in texts if field.name in alone), None)
    return wanted or unique_text or next(iter(texts), None)


def columns_of(model: EntityModel, visible: Sequence[FieldModel]) -> list[FieldModel]:
    """Return the columns of a table of rows: the declared ones, or the first six fields except long texts."""
    if model.declaration.columns is not None:
        by_name = {field.name: field for field in visible}
        return [by_name[name] for name in model.declaration.columns if name in by_name]
    return [field for field in visible if not field.server_owned and widget_of(field) != "multiline"][:COLUMNS]


def widget_of(field: FieldModel) -> WidgetName | None:
    """Return the declared widget, or ``multiline`` for a possibly long text."""
    if field.widget is not None:
        return field.widget
    is_long = field.kind is Kind.TEXT and (field.max_length or 0) >= LONG_TEXT
    return "multiline" if is_long else None


def _sentence(name: str) -> str:
    """``released_at`` and ``releasedAt`` as ``Released at``."""
    words = _WORD.findall(name)
    text = " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words) or name
    return text[:1].upper() + text[1:]
