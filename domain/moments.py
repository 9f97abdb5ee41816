"""Timestamps as text: the one grammar of bodies, filters and files."""

import re
from datetime import UTC, datetime

EXAMPLE = "2026-11-20T12:00:00Z"

_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r" ?(?:[Zz]|([+-](?:[01][0-9]|2[0-3]))(?::?([0-5][0-9]))?)"
)
TOO_FINE = "must have at most six digits after the point of its seconds, or zeros behind them: round it"
# What nearly every text is: it takes half the time of the whole grammar.
_USUAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?!24)[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z")
_NO_SUCH = "is not a valid date or time"


class NotAMoment(Exception):
    """The text is not a timestamp; the message continues the field's name."""


def read_moment(text: str) -> tuple[datetime, bool]:
    """The moment in UTC to the microsecond, and whether digits beyond these were cut off that are not zeros.

    Between day and time is ``T`` or a blank. Seconds and their fraction may be missing. The zone is ``Z``, ``+01:00``,
    ``+0100`` or ``+01``, also behind a blank. Raises NotAMoment.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise NotAMoment(f"must be a timestamp with a zone, such as {EXAMPLE}")
    day, time, seconds, fraction, hours, minutes = match.groups()
    # Later versions of Python read 24:00 as the next midnight.
    if time[:2] == "24":
        raise NotAMoment(_NO_SUCH)
    kept = f".{fraction[:6]:0<6}" if fraction else ""
    zone = f"{hours}:{minutes or '00'}" if hours else "+00:00"
    try:
        moment = datetime.fromisoformat(f"{day}T{time}:{seconds or '00'}{kept}{zone}")
    except ValueError:
        raise NotAMoment(_NO_SUCH) from None
    return in_utc(moment), fraction is not None and bool(fraction[6:].strip("0"))


def exact_moment(text: str) -> datetime:
    """The moment in UTC. Raises NotAMoment, also for one that a microsecond is too coarse for."""
    if _USUAL.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            raise NotAMoment(_NO_SUCH) from None
    moment, is_cut = read_moment(text)
    if is_cut:
        raise NotAMoment(TOO_FINE)
    return moment


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC. Raises NotAMoment where that leaves the calendar, as the years 1 and 9999 can."""
    try:
        return moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    except OverflowError:
        raise NotAMoment("must be a moment between the years 1 and 9999, in UTC") from None
