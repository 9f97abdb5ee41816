"""The query grammar: parameters of a list, and operators of each kind of property."""

from collections.abc import Iterator

from domain.entities.declaration import Registry
from domain.entities.query import comparisons, read_query
from domain.entities.query.kinds import QUERY_KINDS, QueryKind
from domain.entities.query.parameters import operator_meanings, settings_of, summary_parameters_of
from domain.entities.query.query import MAX_STEPS, Operator
from domain.entities.query.read_summary import SUMMARY
from domain.entities.query.responses import LARGEST_PAGE, MOST_INCLUDED
from domain.entities.query.vocabulary import Vocabulary
from entrypoints.assembly.entities import load_registry
from tools.reference.markdown import code, codes, sections, table

INTRODUCTION = """\
Parameters of `GET /api/{entity}` and of its export. An unknown name is refused with the nearest known one; a name
counts without regard to case. The examples are of the catalogue that the service begins with."""

FILTERS = """\
A filter is the name of a property, or a path to one of a related row. Several filters must all hold.

| Filter | Meaning |
| --- | --- |
| `status=live` | is this value |
| `status=live,retired` | is one of these values |
| `price.gte=10` | an operator, behind a dot |
| `minPrice=10` | another name of `price.gte` |
| `category.name=Lamps` | a property of the related row |
| `reviews.rating.gte=4` | of several related rows, one at least |
| `description.isNull=true` | has no value |

A value between commas is a list; with `.eq` a comma is part of the value. Timestamps have a zone and
[the spellings](../entities.md#timestamps) of bodies; a date stands for its first moment in UTC. One between two
microseconds is compared exactly: it equals no stored value."""


def page() -> str:
    registry = load_registry(("tenantry.catalogue",))
    return sections(
        "# Query grammar",
        INTRODUCTION,
        "## Parameters",
        _parameters(registry),
        "## Parameters of a summary",
        _parameters_of_a_summary(registry),
        "## Filters",
        FILTERS,
        "## Operators",
        _operators(),
        "## Operators by type",
        _kinds(),
        "## Limits",
        _limits(),
    )


def _parameters(registry: Registry) -> str:
    model = next(model for model in registry if model.plural == "products")
    names = (*read_query.PAGING, *read_query.ORDERING, *read_query.VIEWING)
    found = settings_of(Vocabulary(registry, model, frozenset()), names)
    return table(("Parameter", "Meaning"), ((code(parameter.name), parameter.description) for parameter in found))


def _parameters_of_a_summary(registry: Registry) -> str:
    found = summary_parameters_of(registry["products"], registry, frozenset())
    own = (parameter for parameter in found if parameter.name in SUMMARY)
    return table(("Parameter", "Meaning"), ((code(parameter.name), parameter.description) for parameter in own))


def _operators() -> str:
    return table(("Operator", "The property"), ((code(name), text) for name, text in operator_meanings().items()))


def _kinds() -> str:
    rows = (
        (kind.value, codes(operator.value for operator in queried.operators), ", ".join(_bounds(queried)))
        for kind, queried in QUERY_KINDS.items()
    )
    return table(("Type of the property", "Operators", "Other names"), rows)


def _bounds(queried: QueryKind) -> Iterator[str]:
    for bound in queried.bounds:
        yield f"{code(bound.name('property'))} for {code(bound.operator.value)}"


def _limits() -> str:
    rows = (
        ("Filters in a request", read_query.MAX_CONDITIONS),
        ("Relations that the filters of a request lead through", read_query.MAX_FILTERED_RELATIONS),
        (f"Values of {code(Operator.IN.value)}", comparisons.MAX_VALUES),
        ("Words of a search", read_query.MAX_WORDS),
        ("Properties to sort by", read_query.MAX_SORT_KEYS),
        ("Relations in `include`", read_query.MAX_INCLUDES),
        ("Lists of related rows in an answer", f"{MOST_INCLUDED} MiB"),
        ("Texts and lists of a page of several rows", f"{LARGEST_PAGE} MiB"),
        ("Steps of a path", MAX_STEPS),
        ("Rows on a page", read_query.MAX_PAGE_SIZE),
        ("Rows on a page, unless it is said", read_query.DEFAULT_PAGE_SIZE),
    )
    return table(("What", "At most"), ((what, str(most)) for what, most in rows))
