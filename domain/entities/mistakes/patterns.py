"""Errors in patterns: alternatives of which only some are anchored, and patterns that need hours for a short text.

A pattern is fast if the next character always decides how to continue: a repetition cannot read the character that
follows it, and two alternatives begin with different characters. A repeated group must meet this condition. Outside
repeated groups, each ambiguous repetition raises the exponent of the text's length in the matching time by one.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, takewhile

from msgspec import Struct

# Maximum number of comparisons for one text: they need about a twentieth of a second.
_MOST_WORK = 5_000_000
_FEW = 300
"""Maximum rounds of a repetition with a constant cost; beyond, the time grows with the text."""
_FEW_ROUNDS = 4
"""Maximum rounds of a group counted as consecutive groups, not as a repetition."""
_STARTS, _ENDS = ("^", r"\A"), ("$", r"\Z")
_ANCHORS = (*_STARTS, *_ENDS, r"\b", r"\B")
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
# Sample characters for comparison, in addition to the pattern's: ASCII, and a letter, a digit and a blank beyond.
_SAMPLE = (*map(chr, range(128)), "é", "٣", "\u00a0")
_TOKEN = re.compile(
    r"""\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|[0-9]+|.)
    |\[\^?\]?(?:\\.|[^\]\\])*\]
    |\((?:\?(?:P<\w+>|P=\w+\)|\#[^)]*\)|\(\w+\)|[aiLmsux-]*[:)]|[=!>]|<[=!]))?
    |(?:[*+?]|\{[0-9]+\}|\{[0-9]*,[0-9]*\})[?+]?
    |.""",
    re.DOTALL | re.VERBOSE,
)
_REPEATS = re.compile(r"(?:([*+?])|\{([0-9]*)(,?)([0-9]*)\})[?+]?")
_ANYTHING = re.compile(r"\\[1-9].*|\(\?P=.*")
"""Tokens of backreferences, which may read any text."""
_SILENT = re.compile(r"\(\?(?:#|[aiLmsux-]+\)).*", re.DOTALL)
"""Tokens of comments and flags, which read no text."""


class Piece(Struct, frozen=True):
    """A piece of a pattern with its repetition: an element that reads one of ``chars``, or a group of alternatives.

    An anchor is a group that reads nothing.
    """

    text: str
    chars: frozenset[str] = frozenset()
    ways: tuple[tuple["Piece", ...], ...] = ()
    least: int = 1
    most: float = 1


Way = Sequence[Piece]


def pattern_mistakes(pattern: str, longest: int | None) -> Iterator[str]:
    """Return errors of a pattern for texts up to a length, as phrases that follow the field's name."""
    ways = _read(pattern).ways
    if any(len(_anchors(ways, place, at)) > 1 for place, at in ((0, _STARTS), (-1, _ENDS))):
        yield (
            f"has the pattern {pattern!r}, which anchors only some of its alternatives: write them in brackets, as in "
            "'^(?:a|b)$'"
        )
    power = degree(pattern)
    if math.isinf(power):
        yield (
            f"has the pattern {pattern!r}, with a repeated group that reads one text in many ways: a text that nearly "
            "matches could take hours. In a repeated group, let alternatives begin with different characters, and let "
            "no repetition read the character that follows it: '(?:-[a-z]+)*' instead of '(?:-?[a-z]+)*', and "
            "'(?:ab?)*' instead of '(?:a|ab)*'"
        )
    elif power > 1 and (longest or math.inf) > (most := _longest(int(power))):
        yield (
            f"has the pattern {pattern!r}, which may take as long as the length of a text to the power of {power}: "
            f"add max_length={most} or less, or begin it with '^' and let no repetition read the character that "
            "follows it"
        )


def degree(pattern: str) -> float:
    """Return the exponent of the text's length in the time of a failing search; infinity for exponential time."""
    reader = _read(pattern)
    starts = _STARTS[1:] if re.compile(pattern).flags & re.MULTILINE else _STARTS
    # A search starts at each position, like a leading repetition of anything.
    begins = [] if _anchors(reader.ways, 0, starts) == {True} else [True]
    try:
        # Lookaheads and lookbehinds are searched separately.
        runs = [[*begins, *_undecided(reader.ways)], *([*_undecided(ways)] for ways in reader.looks)]
    except _Doubles:
        return math.inf
    return max(map(_longest_run, runs))


class _Doubles(Exception):
    """A repeated group is ambiguous: each round doubles the time."""


def _longest_run(undecided: Iterable[bool | None]) -> int:
    """Length of the longest sequence of ambiguous repetitions."""
    longest = length = 1
    for is_undecided in undecided:
        longest = max(longest, length)
        if is_undecided is not None:
            length = length + 1 if is_undecided else 1
    return longest


def _undecided(ways: Iterable[Way], after: frozenset[str] = frozenset(), rounds: float = 1) -> Iterator[bool | None]:
    """Yield whether each long repetition is ambiguous: it can read a character that may follow it. Yield None for an
    unambiguous one that may be empty. Raises _Doubles.
    """
    for way in ways:
        for part, following in _with_following(way, after):
            if part.ways and rounds * part.most <= _FEW_ROUNDS:
                again = following | _firsts([part]) if part.most > 1 else following
                yield from [*_undecided(part.ways, again, rounds * part.most)] * int(part.most)
                continue
            if part.ways and _is_ambiguous([part], frozenset()):
                raise _Doubles
            if part.most > (_FEW if rounds == 1 else _FEW_ROUNDS):
                is_decided = _firsts([part]).isdisjoint(following)
                yield None if is_decided and part.least == 0 else not is_decided


def _is_ambiguous(way: Way, after: frozenset[str]) -> bool:
    """Return whether any piece of a repeated group can read a text in several ways."""
    return any(_is_open(part, following) for part, following in _with_following(way, after))


def _is_open(part: Piece, following: frozenset[str]) -> bool:
    if part.text in _ANCHORS:
        return False
    empty = sum(map(_may_be_empty, part.ways))
    if (empty or part.least != part.most) and not _firsts([part]).isdisjoint(following):
        return True
    # Only one way may match the empty text: a repetition of an empty group would be another way.
    if empty > (part.least == part.most == 1):
        return True
    again = following | _firsts([part]) if part.most > 1 else following
    is_told = all(_differ(*pair) for pair in combinations(part.ways, 2))
    return not is_told or any(_is_ambiguous(way, again) for way in part.ways)


def _differ(first: Way, second: Way) -> bool:
    """Whether no text can begin both alternatives."""
    # Compare character by character, because words in a list may share the first letter and differ later.
    single = [[*takewhile(lambda part: part.chars and part.least == part.most == 1, way)] for way in (first, second)]
    if any(here.chars.isdisjoint(there.chars) for here, there in zip(*single, strict=False)):
        return True
    return _firsts(first).isdisjoint(_firsts(second))


def _with_following(way: Way, after: frozenset[str]) -> Iterator[tuple[Piece, frozenset[str]]]:
    for place, part in enumerate(way):
        rest = way[place + 1 :]
        yield part, _firsts(rest) | (after if _may_be_empty(rest) else frozenset())


def _firsts(way: Way) -> frozenset[str]:
    """Characters with which a text of these pieces can begin."""
    found = frozenset[str]()
    for part in way:
        found = found.union(part.chars, *map(_firsts, part.ways))
        if not _may_be_empty([part]):
            break
    return found


def _may_be_empty(way: Way) -> bool:
    return all(part.least == 0 or any(map(_may_be_empty, part.ways)) for part in way)


@cache
def _read(pattern: str) -> "_Reader":
    return _Reader(pattern)


class _Reader:
    """Parser of a pattern: ``ways`` are its alternatives, ``looks`` are those of its lookaheads and lookbehinds."""

    def __init__(self, pattern: str) -> None:
        self._flags = re.compile(pattern).flags | (re.IGNORECASE if re.search(r"\(\?[a-z]*i", pattern) else 0)
        self._sample = frozenset((*_SAMPLE, *pattern, *pattern.lower(), *pattern.upper()))
        text = re.sub(r"\s|(?<!\\)#.*", "", pattern) if self._flags & re.VERBOSE else pattern
        self._tokens = (token for token in _TOKEN.findall(text) if not _SILENT.fullmatch(token))
        self._chars = cache(self._chars_of)
        self.looks: list[tuple[tuple[Piece, ...], ...]] = []
        self.ways = self._alternatives()

    def _alternatives(self) -> tuple[tuple[Piece, ...], ...]:
        ways: list[list[Piece]] = [[]]
        for token in self._tokens:
            # a quantifier changes the preceding piece
            if token == ")":  # noqa: S105  # of a pattern
                break
            if token == "|":  # noqa: S105  # of a pattern
                ways.append([])
            elif ways[-1] and (bounds := _REPEATS.fullmatch(token)):
                ways[-1].append(_repeated(ways[-1].pop(), bounds))
            elif token in _LOOKS:
                self.looks.append(self._alternatives())
            else:
                ways[-1].append(self._part(token))
        return tuple(map(tuple, ways))

    def _part(self, token: str) -> Piece:
        if _ANYTHING.fullmatch(token):
            return Piece(token, self._sample, least=0, most=math.inf)
        if token.startswith("("):
            return Piece(token, ways=self._alternatives())
        return Piece(token, ways=((),)) if token in _ANCHORS else Piece(token, self._chars(token))

    def _chars_of(self, token: str) -> frozenset[str]:
        element = re.compile(token, self._flags & (re.IGNORECASE | re.ASCII | re.DOTALL))
        return frozenset(char for char in self._sample if element.fullmatch(char))


def _repeated(part: Piece, bounds: re.Match[str]) -> Piece:
    sign, least, comma, most = bounds.groups()
    if sign:
        low, high = {"*": (0, math.inf), "+": (1, math.inf), "?": (0, 1)}[sign]
    else:
        low, high = int(least or 0), int(most) if most else math.inf if comma else int(least)
    return Piece(part.text, part.chars, part.ways, low, high)


def _longest(power: int) -> int:
    """Longest text for which a pattern of this power is fast."""
    return int((_MOST_WORK * math.factorial(power)) ** (1 / power))


def whole_text(pattern: str) -> str:
    r"""The pattern with ``\Z`` for each ``$``, which in Python also matches before a final line feed."""
    if re.compile(pattern).flags & re.MULTILINE:
        return pattern  # ``(?m)`` asks for the ends of lines
    # Skip escaped characters and sets, so that a ``$`` in them stays.
    return re.sub(
        r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$",
        lambda found: r"\Z" if found[0] == "$" else found[0],
        pattern,
        flags=re.DOTALL,
    )


def _anchors(ways: Iterable[Way], place: int, at: Sequence[str]) -> set[bool]:
    """Whether the alternatives begin (or end) with an anchor; both values if mixed."""
    found = set[bool]()
    for way in ways:
        part = way[place] if way else Piece("")
        is_group = part.text.startswith("(") and part.least == part.most == 1
        found |= _anchors(part.ways, place, at) if is_group else {part.text in at}
    return found
