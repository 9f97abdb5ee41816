"""Names, columns and widgets by which screens show an entity: what its declaration says, or what follows from it."""

import re
from collections.abc import Sequence

from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.kinds import Kind
from domain.entities.markers import WidgetName

COLUMNS = 6
"""Most columns of a table of rows whose declaration names none."""

LONG_TEXT = 500
"""Characters from which on a text is edited over several lines, and is no column by itself."""

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def entity_title(model: EntityModel) -> str:
    """The declared title, or the words of the plural: ``price-lists`` is "Price lists"."""
    return model.declaration.title or _sentence(model.plural)


def field_title(field: FieldModel) -> str:
    """The label, or the words of the name: ``released_at`` is "Released at", a reference ``category_id`` "Category"."""
    if field.label is not None:
        return field.label
    name = re.sub("(?:_id|Id)$", "", field.name) if field.reference is not None else field.name
    return _sentence(name or field.name)


def display_of(model: EntityModel, visible: Sequence[FieldModel]) -> FieldModel | None:
    """The field that names a row; of the ``visible`` fields alone, and None where none of them can.

    It is the declared one, or the first text that is unique by itself, or the first text.
    """
    wanted = next((field for field in visible if field.name == model.declaration.display), None)
    texts = [field for field in visible if field.kind is Kind.TEXT]
    alone = {unique.fields[0] for unique in model.unique if len(unique.fields) == 1}
    unique_text = next((field for field in texts if field.name in alone), None)
    return wanted or unique_text or next(iter(texts), None)


def columns_of(model: EntityModel, visible: Sequence[FieldModel]) -> list[FieldModel]:
    """Columns of a table of rows: the declared ones, or the first six fields that are not long texts."""
    if model.declaration.columns is not None:
        by_name = {field.name: field for field in visible}
        return [by_name[name] for name in model.declaration.columns if name in by_name]
    return [field for field in visible if not field.server_owned and widget_of(field) != "multiline"][:COLUMNS]


def widget_of(field: FieldModel) -> WidgetName | None:
    """The declared widget, or ``multiline`` for a text that may be long."""
    if field.widget is not None:
        return field.widget
    is_long = field.kind is Kind.TEXT and (field.max_length or 0) >= LONG_TEXT
    return "multiline" if is_long else None


def _sentence(name: str) -> str:
    """``price-lists``, ``released_at`` and ``releasedAt`` as words, the first with a capital letter."""
    words = _WORD.findall(name)
    text = " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words) or name
    return text[:1].upper() + text[1:]
