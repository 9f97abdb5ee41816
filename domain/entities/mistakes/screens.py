"""Errors in a declaration's texts for screens: titles, labels, help, widgets, choices, and their fields."""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from domain.entities.declaration import EntityModel
from domain.entities.kinds import LISTS, Kind
from domain.entities.markers import HelpText, Label, Widget, WidgetName
from domain.entities.mistakes.places import Mistake
from domain.entities.screens.choices import Choice, Choices, ColorName

LONGEST_TITLE = 100
LONGEST_HELP = 500

_WIDGETS = ", ".join(map(repr, get_args(WidgetName)))
_COLORS = ", ".join(map(repr, get_args(ColorName)))


def screen_mark_mistakes(kind: Kind, marks: Sequence[object]) -> Iterator[str]:
    """Return errors in a field's label, help and widget, as phrases that follow the field's name."""
    for mark in marks:
        if isinstance(mark, Label) and (wrong := _text_mistake(mark.text, LONGEST_TITLE)):
            yield f"has label({mark.text!r}), which {wrong}"
        if isinstance(mark, HelpText) and (wrong := _text_mistake(mark.text, LONGEST_HELP)):
            yield f"has help_text({mark.text!r}), which {wrong}"
        if isinstance(mark, Widget):
            yield from _widget_mistakes(kind, mark)
    for word, marker in (("label", Label), ("help_text", HelpText), ("widget", Widget), ("choices", Choices)):
        if sum(isinstance(mark, marker) for mark in marks) > 1:
            yield f"has more than one {word}(…)"


def choice_mistakes(values: Sequence[str], marks: Sequence[object]) -> Iterator[str]:
    """Return errors in the labels and colours of a choice's values, as phrases that follow the field's name."""
    for mark in marks:
        if not isinstance(mark, Choices):
            continue
        if not values:
            yield "is marked choices(…), which is for a Literal or an Enum of texts"
        elif not isinstance(mark.by_value, Mapping):
            yield f"has choices({mark.by_value!r}), which is not a dict of values"
        else:
            for value, look in mark.by_value.items():
                yield from _look_mistakes(values, value, look)


def _look_mistakes(values: Sequence[str], value: object, look: object) -> Iterator[str]:
    if value not in values:
        yield f"has choices for {value!r}, which is not one of its values: {', '.join(map(repr, values))}"
    elif not isinstance(look, Choice):
        yield f"has {look!r} as choice of {value!r}: write choice(label, color)"
    elif look.label is not None and (wrong := _text_mistake(look.label, LONGEST_TITLE)):
        yield f"has choice({look.label!r}), which {wrong}"
    elif look.color is not None and look.color not in get_args(ColorName):
        yield f"has the color {look.color!r} of a choice, which is unknown: use one of {_COLORS}"


def screen_mistakes(model: EntityModel) -> Iterator[Mistake]:
    """Return errors in an entity's title, display and columns."""
    declaration = model.declaration
    if declaration.title is not None and (wrong := _text_mistake(declaration.title, LONGEST_TITLE)):
        yield Mistake(f"title is {declaration.title!r}, which {wrong}")
    if declaration.display is not None:
        yield from _display_mistakes(model, declaration.display)
    if declaration.columns is not None:
        yield from _column_mistakes(model, declaration.columns)


def _text_mistake(text: object, longest: int) -> str | None:
    if not isinstance(text, str) or not text.strip():
        return "is not a text to show"
    return f"has {len(text)} characters: at most {longest} are shown" if len(text) > longest else None


def _widget_mistakes(kind: Kind, mark: Widget) -> Iterator[str]:
    if mark.name not in get_args(WidgetName):
        yield f"has widget({mark.name!r}), which is unknown: use one of {_WIDGETS}"
    elif kind is not Kind.TEXT:
        yield f"has widget({mark.name!r}), which is for texts"


def _display_mistakes(model: EntityModel, name: str) -> Iterator[Mistake]:
    field = model.by_name.get(name)
    if field is None:
        yield Mistake(f"display names {name!r}, which is not a field of it")
    elif field.kind in LISTS:
        yield Mistake(f"display names {name!r}, which is a list and names no row")


def _column_mistakes(model: EntityModel, columns: Sequence[str]) -> Iterator[Mistake]:
    if not columns:
        yield Mistake("columns is empty: name one field or more, or leave it out")
    yield from (
        Mistake(f"columns names {name!r}, which is not a field of it")
        for name in dict.fromkeys(columns)
        if name not in model.by_name
    )
    yield from (Mistake(f"columns names {name!r} twice") for name in dict.fromkeys(columns) if columns.count(name) > 1)
