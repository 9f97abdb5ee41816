"""Summaries as values: groups of rows with counts, sums and other measures."""

from datetime import date, timedelta
from enum import Enum

from msgspec import Struct

from domain.entities.kinds import Kind
from domain.entities.query.query import Path, Query

MAX_GROUPED = 3
MAX_MEASURES = 10
MAX_GROUPS = 1_000
DEFAULT_GROUPS = 100
MORE_DIGITS = 4
"""Digits of an average beyond the scale of its field."""


class Unit(Enum):
    """Period of a date; a week begins on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    def first_day(self, day: date) -> date:
        """Return the first day of the period that contains ``day``."""
        match self:
            case Unit.DAY:
                return day
            case Unit.WEEK:
                return day - timedelta(days=day.weekday())
            case Unit.MONTH:
                return day.replace(day=1)
            case Unit.QUARTER:
                return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
            case Unit.YEAR:
                return day.replace(month=1, day=1)


class Function(Enum):
    """Function of a measure. All except COUNT ignore nulls; DISTINCT counts different values."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    DISTINCT = "distinct"


class Grouping(Struct, frozen=True):
    """A field to group by. ``name`` is its JSON name after its relations: ``customer.name``."""

    name: str
    path: Path
    kind: Kind
    unit: Unit | None = None


class Measure(Struct, frozen=True):
    """A value of each group. ``path`` is None only for COUNT.

    ``scale`` has the digits after the point of an exact number, None for other values.
    """

    function: Function
    name: str = ""
    path: Path | None = None
    kind: Kind = Kind.INTEGER
    scale: int | None = None


class Summary(Struct, frozen=True, kw_only=True):
    """Content of a summary.

    ``query`` selects the rows; its ``sort`` has the paths of the groups, then of the measures. ``order`` has numbers
    of columns (groups, then measures) with their direction, and contains each group. Nulls sort as the largest values.
    """

    query: Query
    groups: tuple[Grouping, ...]
    measures: tuple[Measure, ...]
    order: tuple[tuple[int, bool], ...]
    limit: int
