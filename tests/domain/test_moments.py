"""Timestamps as text: one grammar for bodies, forms, filters and the cells of files."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from io import BytesIO
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from adapters.sheets.frames import DONE, ERRORS, Entity, ReadJob
from adapters.sheets.reader import read
from domain.entities.bodies import EVERY_FIELD
from domain.entities.files.options import ImportOptions
from domain.entities.forms import read_changes, read_new
from domain.entities.markers import entity
from domain.entities.query.kinds import read_value
from domain.entities.query.values import NotAValue, first_day_from
from domain.entities.query.values import read_moment as read_filter_moment
from domain.entities.registry import build_registry
from domain.errors import ValidationError
from domain.forms import read_form
from domain.moments import NotAMoment, exact_moment, read_moment
from tests.adapters.sheets.test_cells import frames

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@entity("meetings")
class Meeting(Struct, kw_only=True):
    at: datetime


class Form(Struct, kw_only=True):
    at: Annotated[datetime, Meta(tz=True)] | None = None


MEETINGS = build_registry([Meeting])["meetings"]

SPELLINGS = {
    "RFC 3339": "2026-11-22T12:00:00Z",
    "RFC 3339 in small letters": "2026-11-22t12:00:00z",
    "RFC 3339 with an offset": "2026-11-22T13:00:00+01:00",
    ".NET, format o": "2026-11-22T12:00:00.0000000Z",
    "Go, nanoseconds": "2026-11-22T12:00:00.000000000Z",
    "SQL Server, datetimeoffset": "2026-11-22 12:00:00.0000000 +00:00",
    "SQL Server with an offset": "2026-11-22 07:30:00.0000000 -04:30",
    "PostgreSQL": "2026-11-22 12:00:00+00",
    "Python, str()": "2026-11-22 12:00:00+00:00",
    "ISO 8601 without seconds": "2026-11-22T12:00Z",
    "ISO 8601 without seconds, in a zone": "2026-11-22T14:00+0200",
    "the offset as hours": "2026-11-22T14:00:00+02",
    "many zeros": f"2026-11-22T12:00:00.{'0' * 40}Z",
}
WRONG = {
    "no zone": "2026-11-22T12:00:00",
    "nothing but an hour": "2026-11-22T12Z",
    "a fraction of a minute": "2026-11-22T12:00.5Z",
    "a comma": "2026-11-22T12:00:00,5Z",
    "a point without digits": "2026-11-22T12:00:00.Z",
    "two blanks": "2026-11-22  12:00:00Z",
    "a blank before": " 2026-11-22T12:00:00.Z",
    "a zone by its name": "2026-11-22T12:00:00 Europe/Berlin",
    "an offset of a day": "2026-11-22T12:00:00+24:00",
    "an offset of 60 minutes": "2026-11-22T12:00:00+01:60",
    "24:00": "2026-11-22T24:00:00Z",
    "a leap second": "2026-11-22T23:59:60Z",
    "no such day": "2026-02-30T12:00:00Z",
    "the year 0": "0000-11-22T12:00:00Z",
    "before the year 1 in UTC": "0001-01-01T00:00:00+01:00",
    "digits of another script": "2026-11-22T12:00:0\u0660Z",
    "seconds since 1970": "1795348800",
}
FINE = ["2026-11-22T12:00:00.1234567Z", "2026-11-22T12:00:00.0000000001Z", "2026-11-22 12:00:00.9999999 +01:00"]


def in_a_body(text: str) -> object:
    assert read_changes(MEETINGS, {"at": text}) == read_new(MEETINGS, {"at": text})
    return read_new(MEETINGS, {"at": text})["at"]


def in_a_form(text: str) -> object:
    return read_form(Form, {"at": text}).at


def in_a_filter(text: str) -> object:
    try:
        return read_value(MEETINGS.by_name["at"], text)
    except NotAValue as error:
        raise ValidationError.on("at", str(error)) from None


def in_a_file(text: str) -> object:
    out = BytesIO()
    job = ReadJob(entity=Entity("not", "loaded", None), options=ImportOptions(), may=EVERY_FIELD)
    read(BytesIO(f'at\r\n"{text}"\r\n'.encode()), MEETINGS, job, out)
    (_, (letter, body), *_) = frames(out.getvalue())
    if letter in (ERRORS, DONE):
        raise ValidationError
    return datetime.fromisoformat(body.decode().strip().split(",")[2])


PLACES = (in_a_body, in_a_form, in_a_filter, in_a_file)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_timestamp_of_another_program_is_read_alike_everywhere(name: str, place: Callable[[str], object]) -> None:
    assert exact_moment(SPELLINGS[name]) == NOON
    assert place(SPELLINGS[name]) == NOON


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("name", WRONG)
def test_a_text_that_is_no_timestamp_is_refused_everywhere(name: str, place: Callable[[str], object]) -> None:
    with pytest.raises(NotAMoment):
        exact_moment(WRONG[name])
    if (name, place) != ("a blank before", in_a_file):
        with pytest.raises(ValidationError):
            place(WRONG[name])


@pytest.mark.promise(
    "declarations, values: digits of a second beyond the sixth are read where they are zeros, refused where they would "
    "be rounded"
)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
@pytest.mark.parametrize("text", FINE)
def test_a_moment_between_two_microseconds_is_never_rounded(text: str, place: Callable[[str], object]) -> None:
    moment, is_cut = read_moment(text)
    assert is_cut
    assert moment.microsecond == int(text.partition(".")[2][:6])
    with pytest.raises(ValidationError):
        place(text)


@pytest.mark.parametrize(
    "text", ["2026-11-22 13:00:00 +01:00", "2026-11-22T13:00+0100", "2026-11-22 13:00:00.0000000+01"]
)
def test_a_filter_with_a_plus_that_was_decoded_to_a_blank_is_read(text: str) -> None:
    assert in_a_filter(text.replace("+", " ").replace("  ", " ")) == NOON


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-22", 22),
        ("2026-11-22T00:00:00.0000000Z", 22),
        ("2026-11-22T00:00:00.0000001Z", 23),
        ("2026-11-22T00:00:00.000001Z", 23),
    ],
)
def test_the_first_day_from_a_moment_is_exact(text: str, day: int) -> None:
    assert first_day_from(*read_filter_moment(text)) == date(2026, 11, day)


@pytest.mark.parametrize("read_body", [in_a_body, in_a_form], ids=lambda place: place.__name__)
def test_the_error_of_a_moment_says_what_to_send(read_body: Callable[[str], object]) -> None:
    for text, message in (
        (FINE[0], "must have at most six digits after the point of its seconds, or zeros behind them: round it"),
        ("2026-11-22T12:00:00", "must be a timestamp with a zone, such as 2026-11-20T12:00:00Z"),
        ("2026-02-30T12:00:00Z", "is not a valid date or time"),
    ):
        with pytest.raises(ValidationError) as caught:
            read_body(text)
        assert [(error.field, error.message) for error in caught.value.fields] == [("at", message)]
