"""`GET /api/entities`: descriptions of the entities that the caller may read."""

import gzip
import hashlib
import math

import msgspec
from litestar import Response, Router, get
from litestar.datastructures import ResponseHeader

from adapters.http.request.quality_values import chosen_coding
from adapters.http.request.responses import NOT_MODIFIED, EntityData, Json, NoBody, entity_data
from adapters.http.request.rules import ORDINARY, TENANT_TOKEN, Parameter, operation, rules
from adapters.http.request.strict_request import StrictRequest
from application.entities.description_forms import EntityList
from application.entities.descriptions import Descriptions
from domain.bounded_cache import BoundedCache
from domain.scope import Rights

TEXT = """Everything that a client needs to show entities that it has never heard of: names, fields with their rules \
and operators, relations, and what the caller may do with rows. Fields that a permission of their own closes to the \
caller are left out. `areas` names the areas of administration that the caller may use. The answer changes with the \
caller's permissions and with the declarations alone: ask again with `If-None-Match`."""
REMEMBERED = 4_000_000
"""Maximum bytes in a process's cache of descriptions. The key of an entry is the caller's rights."""
SMALLEST_COMPRESSED = 1_000  # bytes
LEVEL = 5

IF_NONE_MATCH = Parameter("If-None-Match", {"type": "string"}, "304 if the description is still this one.", "header")
ETAG = ResponseHeader(name="ETag", description="Of this description, for `If-None-Match`.", documentation_only=True)

# Rows also show amounts as numbers.
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def descriptions_router(descriptions: Descriptions) -> Router:
    # Declarations do not change while the process runs, so entries do not expire.
    remembered: BoundedCache[Rights, tuple[bytes, str]] = BoundedCache(most=REMEMBERED)

    def described(rights: Rights) -> tuple[bytes, str]:
        found = remembered.get(rights)
        if found is None:
            body = _ENCODER.encode(descriptions.all(rights))
            # Weak, because the envelope contains the time.
            found = body, f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
            remembered.put(rights, found, len(body), math.inf)
        return found

    @get(
        "/",
        **operation(
            "entities.described",
            "Describe the entities that the caller may read",
            TENANT_TOKEN,
            parameters=(IF_NONE_MATCH,),
        ),
        description=TEXT,
        response_headers=[ETAG],
        responses=NOT_MODIFIED,
    )
    async def all_described(request: StrictRequest) -> Response[EntityData[EntityList]]:
        body, tag = described(request.caller.rights)
        headers = {"etag": tag, "cache-control": "private, no-cache", "vary": "Accept-Encoding, Authorization"}
        if request.knows(tag):
            return NoBody(304, headers)
        return _compressed(request, entity_data(request, body, headers=headers))

    opt = rules(area="B", limit=ORDINARY, any_query=False)
    return Router("/api/entities", route_handlers=[all_described], tags=["entities"], opt=opt)


def _compressed(request: StrictRequest, answer: Json) -> Json:
    coding = chosen_coding(request.header(b"accept-encoding"), ["gzip"])
    if coding and request.app.compression_config is None and len(answer.content) > SMALLEST_COMPRESSED:
        answer.content = gzip.compress(answer.content, LEVEL)
        answer.headers["content-encoding"] = "gzip"
    return answer
