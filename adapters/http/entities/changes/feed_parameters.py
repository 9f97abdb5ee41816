"""Parameters of all feeds, as described in the OpenAPI document."""

from adapters.http.request.rules import Parameter
from domain.entities.changes.asking import LONGEST_WAIT, MOST_ITEMS, USUAL_ITEMS
from domain.entities.changes.cursors import LONGEST

AFTER = Parameter("after", {"type": "string", "maxLength": LONGEST}, "The cursor of the page or event before.")
STREAM_START = (
    AFTER,
    Parameter(
        "Last-Event-ID",
        {"type": "string", "maxLength": LONGEST},
        "The last `id`, which EventSource sends when it reconnects; wins over `after`.",
        "header",
    ),
)
ENTITIES = Parameter("entities", {"type": "string"}, "Entities between commas; without it, all that you may read.")
FEED_PAGING = (
    AFTER,
    Parameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS, "default": USUAL_ITEMS},
        "Maximum number of changes.",
    ),
    Parameter(
        "wait",
        {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "default": 0},
        "Seconds to wait for a change if there is none.",
    ),
)
