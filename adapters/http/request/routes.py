"""From a path to what is served there. Slashes that are doubled or trail are as if they were not there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from adapters.http.request.endpoint import Endpoint

Methods = Mapping[str, Endpoint]


@dataclass
class _Place:
    """One step of a path; ``parameter`` is where a step leads whose name is anything."""

    steps: dict[str, "_Place"] = field(default_factory=dict)
    parameter: "_Place | None" = None
    methods: dict[str, Endpoint] = field(default_factory=dict)


class ServedTwice(Exception):
    """``mistakes`` are the methods and paths that more than one endpoint wants."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(mistakes))


class Routes:
    """A named step wins over a parameter; there is no way back from one to the other."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        """Raises ServedTwice."""
        self._root = _Place()
        mistakes = [mistake for endpoint in endpoints if (mistake := self._add(endpoint))]
        if mistakes:
            raise ServedTwice(mistakes)

    def match(self, path: str) -> tuple[Methods, tuple[str, ...]] | None:
        """What is served there by method, and the values of the path's parameters in order."""
        place = self._root
        values: list[str] = []
        for step in filter(None, path.split("/")):
            further = place.steps.get(step)
            if further is None:
                further = place.parameter
                values.append(step)
            if further is None:
                return None
            place = further
        return (place.methods, tuple(values)) if place.methods else None

    def _add(self, endpoint: Endpoint) -> str | None:
        """What is wrong with it."""
        place = self._root
        for step in endpoint.path.strip("/").split("/"):
            if step.startswith("{"):
                place.parameter = place.parameter or _Place()
                place = place.parameter
            else:
                place = place.steps.setdefault(step, _Place())
        if endpoint.method in place.methods:
            return f"{endpoint.method} {endpoint.path} is served twice"
        place.methods[endpoint.method] = endpoint
        return None


def parameter_names(path: str) -> tuple[str, ...]:
    return tuple(step[1:-1] for step in path.split("/") if step.startswith("{"))


def allowed(methods: Methods) -> tuple[str, ...]:
    """What ``Allow`` says: HEAD comes with GET, OPTIONS everywhere."""
    head = ("HEAD",) if "GET" in methods else ()
    return (*sorted(methods), *head, "OPTIONS")
