"""Examples of documents: each ``curl`` of a page, as a request that a test can send."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import NamedTuple

DOCS = Path(__file__).resolve().parents[3] / "docs"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: object
    form: dict[str, str] | None = None
    auth: tuple[str, str] | None = None


def commands(page: str) -> Iterator[str]:
    """The commands of a page's blocks, a line each; a backslash joins a line with the next."""
    for block in _BLOCK.findall((DOCS / page).read_text()):
        yield from (line for line in block.replace("\\\n", " ").splitlines() if line.startswith("curl "))


def request_of(command: str, variables: Mapping[str, str]) -> Request:
    """The request that the command sends; KeyError for a variable that the test does not know."""
    words = shlex.split(Template(command).substitute(variables))[1:]
    method, path, body, headers = "", "", None, {}
    form: dict[str, str] = {}
    auth: tuple[str, str] | None = None
    rest = iter(words)
    for word in rest:
        if word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        elif word == "-X":
            method = next(rest)
        elif word == "-d":
            name, _, value = next(rest).partition("=")
            form[name] = value
        elif word == "-u":
            user, _, password = next(rest).partition(":")
            auth = (user, password)
        elif word == "--json":
            body = json.loads(next(rest))
        else:
            path = word
    is_sent = body is not None or bool(form)
    return Request(method or ("POST" if is_sent else "GET"), path, headers, body, form or None, auth)
