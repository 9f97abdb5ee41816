"""XML of one part, streamed within limits: no declared entities, bounded depth, tags and elements."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn
from xml.parsers import expat

from domain.errors import BadRequest

DEEPEST = 64
MOST_ATTRIBUTES = 100
LONGEST_TAG = 128 * 1024
"""Maximum bytes of a tag, a comment or an instruction: the parser stores and rereads incomplete ones."""
MOST_ELEMENTS = 6_000_000
"""Maximum elements of a part: two or three for each cell, so 200,000 rows may have ten to fifteen columns."""

_MAIN = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main ",
    "http://purl.oclc.org/ooxml/spreadsheetml/main ",
)
_RELATIONS = (
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships ",
    "http://purl.oclc.org/ooxml/officeDocument/relationships ",
)


def main_names(*names: str) -> Mapping[str, str]:
    """Return the short name of each sheet element, by the names that the parser gives it in both namespaces."""
    return {namespace + name: name for namespace in _MAIN for name in names}


def relation_id(attributes: Mapping[str, str]) -> str | None:
    """Return the attribute ``r:id``, with any namespace prefix."""
    return next((attributes[name] for space in _RELATIONS if (name := f"{space}id") in attributes), None)


class XmlPart(ABC):
    """Base of readers of an archive entry: a subclass overrides ``start`` and ``end``, and ``text`` if it reads text.

    The parser names elements by namespace, blank and name, independent of prefixes.
    """

    def __init__(self, part: str) -> None:
        self.part = part

    @abstractmethod
    def start(self, name: str, attributes: list[str]) -> None:
        """Handle a start tag; ``attributes`` alternates names and values."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handle an end tag."""

    def found(self) -> Iterator[Any]:
        """Return the items read since the last call."""
        return iter(())

    def read(self, pieces: Iterable[bytes], text: Callable[[str], None] | None = None) -> Iterator[Any]:
        """Yield the items of ``found`` after each piece. Raises BadRequest, naming the archive entry."""
        parser: Any = expat.ParserCreate(None, " ")
        parser.buffer_text = parser.ordered_attributes = True
        parser.StartElementHandler, parser.EndElementHandler = self._counted()
        if text is not None:
            parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._refuse_declaration
        fed = 0
        try:
            for piece in pieces:
                fed += len(piece)
                parser.Parse(piece, False)  # the method accepts only positional arguments
                if fed - parser.CurrentByteIndex > LONGEST_TAG:
                    raise BadRequest(f"The file has a tag of over {LONGEST_TAG // 1024} kB ({self.part}).")
                yield from self.found()
            parser.Parse(b"", True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise BadRequest(f"The file is a damaged xlsx: {self.part} is not valid XML.") from error
        yield from self.found()

    def read_all(self, pieces: Iterable[bytes], text: Callable[[str], None] | None = None) -> None:
        for _ in self.read(pieces, text):
            pass

    def _counted(self) -> tuple[Callable[[str, list[str]], None], Callable[[str], None]]:
        """Handlers of start and end tags that check the limits."""
        # Local variables: attributes would cost a quarter of the time.
        start, end, refuse = self.start, self.end, self._refuse
        depth = elements = 0

        def started(name: str, attributes: list[str]) -> None:
            nonlocal depth, elements
            depth += 1
            elements += 1
            if depth > DEEPEST or elements > MOST_ELEMENTS or len(attributes) > 2 * MOST_ATTRIBUTES:
                refuse(depth, attributes)
            start(name, attributes)

        def ended(name: str) -> None:
            nonlocal depth
            depth -= 1
            end(name)

        return started, ended

    def _refuse(self, depth: int, attributes: list[str]) -> NoReturn:
        if depth > DEEPEST:
            raise BadRequest(f"The file nests its elements deeper than {DEEPEST} ({self.part}).")
        if len(attributes) > 2 * MOST_ATTRIBUTES:
            raise BadRequest(f"The file has an element with over {MOST_ATTRIBUTES} attributes ({self.part}).")
        raise BadRequest(f"The file has over {MOST_ELEMENTS} elements in {self.part}: split it, or send it as CSV.")

    def _refuse_declaration(self, *_: object) -> NoReturn:
        raise BadRequest(f"The file declares entities ({self.part}), which no xlsx does.")


def paired(attributes: list[str]) -> Mapping[str, str]:
    return dict(zip(attributes[::2], attributes[1::2], strict=True))
