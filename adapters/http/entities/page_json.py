"""JSON of a page of rows, as specified."""

import msgspec

from application.ports.entities.records import RowPage
from domain.entities.query.cursors import write_cursor
from domain.entities.query.query import Query


def page_body(query: Query, page: RowPage) -> bytes:
    """Return the specification's page around the store's JSON."""
    total, size = page.total, query.page_size
    pages = None if total is None else -(-total // size)
    around: dict[str, object] = {
        "page": query.page,
        "pageSize": size,
        "totalCount": total,
        "totalPages": pages,
        "hasNextPage": page.has_next,
        "hasPreviousPage": query.page > 1 or query.cursor is not None,
    }
    if page.last is not None:
        around["nextCursor"] = write_cursor(query.sort, page.last)
    if page.total_is_estimate:
        around["totalCountIsEstimate"] = True
    return b'{"items":' + bytes(page.items) + b"," + msgspec.json.encode(around)[1:]
