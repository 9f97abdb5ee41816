"""What stands in a path, and in the headers that ask for one version of it."""

import re
from uuid import UUID

from adapters.http.request.endpoint import Call
from domain.errors import BadRequest, NotFound

NO_VERSION = 0

_CANONICAL = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def id_in(call: Call, name: str) -> UUID:
    """A malformed id is an id of nothing; other spellings of a UUID than its usual one are malformed."""
    text = call.path_params[name]
    if _CANONICAL.fullmatch(text) is None:
        raise NotFound
    return UUID(text)


def wanted_version(call: Call) -> int | None:
    """What ``If-Match`` names, None when any version will do; a tag of something else is the version of nothing."""
    given = call.headers.get(b"if-match", b"").strip()
    if given in (b"", b"*"):
        return None
    if b"," in given:
        raise BadRequest("If-Match takes one entity tag here.")
    version = _version(given)
    return NO_VERSION if version is None else version


def is_known(call: Call, version: int) -> bool:
    """Whether ``If-None-Match`` says that the caller has this version already."""
    given = call.headers.get(b"if-none-match")
    if given is None:
        return False
    return any(one.strip() == b"*" or _version(one.strip().removeprefix(b"W/")) == version for one in given.split(b","))


def _version(tag: bytes) -> int | None:
    digits = tag[1:-1]
    is_tag = len(tag) > 2 and tag[:1] == b'"' == tag[-1:]
    return int(digits) if is_tag and digits.isdigit() and len(digits) < 10 else None
