"""Options of an import."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta, Struct

from domain.entities.bodies import EVERY_FIELD, FieldAccess
from domain.entities.declaration import EntityModel, FieldModel
from domain.errors import FieldError, ValidationError
from domain.forms import read_form

_DATE_FORMAT = re.compile(r"(DD|MM|YYYY)([./-])(DD|MM|YYYY)\2(DD|MM|YYYY)")
LAST_HEADER_ROW = 1_000
Mode = Literal["create", "upsert"]


class ImportOptions(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Options of an import.

    ``mode`` ``upsert`` changes the row with the same ``key``, a unique field, and creates others. ``atomic`` stores all
    rows or none; ``dry_run`` stores none and reports. ``columns`` maps a column of the file to a JSON name
    (``{"Titel": "title"}``), or to None where it is left out; ``sheet`` is a name or counts from 1. ``time_zone`` names
    the zone of an xlsx's times (``Europe/Berlin``); without it they are UTC. ``decimal`` and ``date_format`` are of the
    texts in the file (``,`` and ``DD.MM.YYYY``); without ``decimal``, the sign is a point and ``1.000`` is not a whole
    number. ``header_row`` is the number of the row with the columns' names, without it the first row that holds
    anything.
    """

    mode: Mode = "create"
    key: str | None = None
    atomic: bool = False
    dry_run: bool = False
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    time_zone: str | None = None
    decimal: Literal[".", ","] | None = None
    date_format: str | None = None
    header_row: Annotated[int, Meta(ge=1, le=LAST_HEADER_ROW)] | None = None
    columns: dict[str, str | None] = msgspec.field(default_factory=dict)


def read_options(model: EntityModel, body: Mapping[str, object], may: FieldAccess = EVERY_FIELD) -> ImportOptions:
    """The options in ``body``, whose key is a field that the caller sees.

    Raises ValidationError, each field named ``options.…``.
    """
    try:
        options = read_form(ImportOptions, body)
    except ValidationError as error:
        named = [FieldError(f"options.{wrong.field}", wrong.message) for wrong in error.fields]
        raise ValidationError(fields=named) from None
    if wrong := list(_wrong_options(model, options, may)):
        raise ValidationError(fields=wrong)
    if options.mode == "upsert" and options.key is None:
        # The only one that the caller sees: another one may stand before it.
        return msgspec.structs.replace(options, key=next(keys_of(model, may)))
    return options


def _wrong_options(model: EntityModel, options: ImportOptions, may: FieldAccess) -> Iterator[FieldError]:
    if options.delimiter is not None and (len(options.delimiter) != 1 or options.delimiter in '"\r\n\0'):
        yield FieldError("options.delimiter", "must be one character, other than a quote or a line break")
    if options.time_zone is not None and not _is_time_zone(options.time_zone):
        yield FieldError("options.timeZone", "must be the name of a time zone, such as Europe/Berlin")
    if options.date_format is not None and not is_date_format(options.date_format):
        yield FieldError("options.dateFormat", "takes DD, MM and YYYY with a point, slash or hyphen between them")
    yield from _wrong_key(model, options, may)
    spelt = {name.strip().lower(): name for name in options.columns}
    clashing = sorted(options.columns.keys() - spelt.values())
    yield from (FieldError(f"options.columns.{name}", "is given twice") for name in clashing)


def _wrong_key(model: EntityModel, options: ImportOptions, may: FieldAccess) -> Iterator[FieldError]:
    if options.mode == "create":
        if options.key is not None:
            yield FieldError("options.key", "is taken with the mode upsert only")
        return
    keys = list(keys_of(model, may))
    if options.key is None:
        if len(keys) != 1:
            hint = (
                f"is required: it must be one of {', '.join(keys)}" if keys else "needs a unique field: there is none"
            )
            yield FieldError("options.key", hint)
    elif options.key.lower() not in {key.lower() for key in keys}:
        yield FieldError("options.key", f"must be a unique field: {', '.join(keys) or 'there is none'}")


def is_date_format(text: str) -> bool:
    return _DATE_FORMAT.fullmatch(text) is not None and sorted(date_parts(text)[1]) == ["DD", "MM", "YYYY"]


def date_parts(date_format: str) -> tuple[str, list[str]]:
    """The separator of a date and its parts: ``DD.MM.YYYY`` is ``.`` and ``["DD", "MM", "YYYY"]``."""
    separator = next(sign for sign in ".-/" if sign in date_format)
    return separator, date_format.split(separator)


def keys_of(model: EntityModel, may: FieldAccess) -> Iterator[str]:
    """JSON names of the fields that are unique by themselves and exist for the caller."""
    for constraint in model.unique:
        wire = model.by_name[constraint.fields[0]].wire
        if len(constraint.fields) == 1 and wire not in may.unknown:
            yield wire


def _is_time_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    # A name that is a folder or no path at all is an OSError or ValueError.
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return False
    return True


def key_field(model: EntityModel, options: ImportOptions) -> FieldModel:
    """The field by which an upsert finds the stored row: ``options.key``, or the only unique field."""
    if options.key is not None:
        return model.by_wire[options.key.lower()]
    return next(model.by_name[constraint.fields[0]] for constraint in model.unique if len(constraint.fields) == 1)
