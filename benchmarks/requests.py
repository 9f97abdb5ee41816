"""Requests of a load, as bytes on the wire."""

from msgspec import Struct, json

MARK = "@" * 9
"""Placeholder for a number, with as many digits, that each request replaces by its own."""

DELETED_UUID = f"01900000-0000-7000-8000-000{MARK}"
"""Id of a row that exists to be deleted, by its number."""

JSON = "application/json"
FORM_OF_FIELDS = "application/x-www-form-urlencoded"
BOUNDARY = "----a-line-that-no-row-holds"
FORM = f"multipart/form-data; boundary={BOUNDARY}"


class Request(Struct, frozen=True, kw_only=True):
    """A request; ``body`` is ASCII text, so that its characters are its bytes."""

    method: str = "GET"
    path: str
    token: str | None = None
    body: str = ""
    content_type: str = JSON

    def wire(self) -> str:
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: localhost"]
        if self.token is not None:
            lines.append(f"Authorization: Bearer {self.token}")
        if self.method != "GET":
            lines += [f"Content-Type: {self.content_type}", f"Content-Length: {len(self.body)}"]
        return "\r\n".join([*lines, "", self.body])


def posting(path: str, token: str | None, body: object) -> Request:
    return Request(method="POST", path=path, token=token, body=json.encode(body).decode())


def numbered(text: str, number: int) -> tuple[str, int]:
    """The text with each MARK replaced by the next number, and the number after the last one."""
    first, *others = text.split(MARK)
    pieces = [first]
    for other in others:
        pieces += [f"{number:09d}", other]
        number += 1
    return "".join(pieces), number
