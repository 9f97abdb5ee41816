"""A query's conditions as SQL: one expression per operator, with the number of the parameter that it compares to."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from adapters.postgres.entities.reading.json import quoted
from adapters.postgres.schema.sql import without_case
from domain.entities.declaration import EntityModel
from domain.entities.query.operators import PARTS, ignores_case
from domain.entities.query.query import Operator, Path, SortKey


class Asked(Struct, frozen=True):
    """A condition without its value, which is the parameter of this number."""

    path: Path
    operator: Operator
    number: int


_EXPRESSIONS: Mapping[Operator, Callable[[str, str], str]] = {
    Operator.EQ: lambda column, value: f"{column} = {value}",
    Operator.NE: lambda column, value: f"{column} <> {value}",
    Operator.GT: lambda column, value: f"{column} > {value}",
    Operator.GTE: lambda column, value: f"{column} >= {value}",
    Operator.LT: lambda column, value: f"{column} < {value}",
    Operator.LTE: lambda column, value: f"{column} <= {value}",
    Operator.IN: lambda column, value: f"{column} = ANY ({value})",
    Operator.CONTAINS: lambda column, value: f"{column} LIKE {value}",
    Operator.STARTS_WITH: lambda column, value: f"{column} LIKE {value}",
    Operator.ENDS_WITH: lambda column, value: f"{column} LIKE {value}",
    Operator.IS_NULL: lambda column, value: f"({column} IS NULL) = {value}",
}
_WITHOUT_CASE = PARTS | {Operator.EQ, Operator.NE, Operator.IN}


def condition(model: EntityModel, alias: str, asked: Asked) -> str:
    one = model.by_name[asked.path.field]
    column, value = f"{alias}.{quoted(one.name)}", f"${asked.number}"
    folds = asked.operator in PARTS or (asked.operator in _WITHOUT_CASE and ignores_case(model, one))
    if folds:
        column, value = without_case(column), _lowered(asked.operator, value)
    return _EXPRESSIONS[asked.operator](column, value)


def _lowered(operator: Operator, value: str) -> str:
    if operator is Operator.IN:
        return f"ARRAY(SELECT {without_case('one')} FROM unnest({value}::text[]) one)"
    return without_case(f"{value}::text")


def has_word(fields: Sequence[str], alias: str, number: int) -> str:
    """Some search field contains the word, which comes as a LIKE pattern."""
    word = without_case(f"${number}::text")
    found = [f"{without_case(f'{alias}.{quoted(name)}')} LIKE {word}" for name in fields]
    return f"({' OR '.join(found) or 'false'})"


def parameter(operator: Operator, value: object) -> object:
    """What the driver is given for a condition's value."""
    if operator in PARTS:
        return pattern(operator, str(value))
    return list(value) if isinstance(value, tuple) else value


def pattern(operator: Operator, text: str) -> str:
    """For LIKE; its wildcards mean themselves."""
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    before = "" if operator is Operator.STARTS_WITH else "%"
    after = "" if operator is Operator.ENDS_WITH else "%"
    return f"{before}{literal}{after}"


class Ordered(Struct, frozen=True):
    """A sort key as SQL: nulls are the largest, which is the server's own default."""

    expression: str
    key: SortKey
    is_nullable: bool

    @property
    def order(self) -> str:
        return f"{self.expression} DESC" if self.key.descending else self.expression


def after(ordered: Sequence[Ordered], numbers: Sequence[int | None]) -> str:
    """The rows behind the one whose sort values the parameters are; None stands for a null.

    A comparison of whole rows, which an index answers, where all keys run one way and know no nulls.
    """
    is_plain = len({one.key.descending for one in ordered}) == 1 and not any(one.is_nullable for one in ordered)
    if is_plain and None not in numbers:
        sign = "<" if ordered[0].key.descending else ">"
        return f"({', '.join(one.expression for one in ordered)}) {sign} ({', '.join(f'${n}' for n in numbers)})"
    pairs = list(zip(ordered, numbers, strict=True))
    ways = [[*(_same(*pair) for pair in pairs[:last]), _behind(*pairs[last])] for last in range(len(pairs))]
    return f"({' OR '.join(' AND '.join(way) for way in ways)})"


def _same(one: Ordered, number: int | None) -> str:
    return f"{one.expression} IS NULL" if number is None else f"{one.expression} = ${number}"


def _behind(one: Ordered, number: int | None) -> str:
    if one.key.descending:
        return f"{one.expression} IS NOT NULL" if number is None else f"{one.expression} < ${number}"
    if number is None:
        return "false"
    larger = f"{one.expression} > ${number}"
    return f"({larger} OR {one.expression} IS NULL)" if one.is_nullable else larger
