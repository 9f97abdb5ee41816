"""Codecs for values that the driver's own conversion would change."""

from datetime import UTC, date, datetime, timedelta

from msgspec import Raw

from adapters.postgres.connection.connections import Connection

# PostgreSQL counts days and microseconds from this date.
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


async def set_codecs(connection: Connection) -> None:
    """Set codecs: leave JSON raw, and read the limits of Python's calendar as dates, not as infinity."""
    # The driver reads these limits as infinity. The format "tuple" is the server's number, without conversion.
    own = {"schema": "pg_catalog"}
    await connection.set_type_codec("json", encoder=bytes, decoder=Raw, format="binary", **own)
    await connection.set_type_codec("date", encoder=_days, decoder=_date, format="tuple", **own)
    await connection.set_type_codec("timestamptz", encoder=_microseconds, decoder=_moment, format="tuple", **own)


def _days(day: date) -> tuple[int]:
    return (day.toordinal() - _EPOCH.toordinal(),)


def _date(days: tuple[int]) -> date:
    return date.fromordinal(days[0] + _EPOCH.toordinal())


def _microseconds(moment: datetime) -> tuple[int]:
    return ((moment - _EPOCH) // _MICROSECOND,)


def _moment(microseconds: tuple[int]) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds[0])
