"""The words that query parameters may use of an entity: its properties, its relations, and their other spellings."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Registry, Relation
from domain.entities.query.operators import BOUNDS, BY_NAME, OPERATORS, Bound
from domain.entities.query.query import Hidden, Operator, Path
from domain.errors import unknown_name

MAX_STEPS = 3
SHORT_NAMES = {"created": "createdat", "updated": "updatedat"}


class NotAWord(Exception):
    """What a name is refused for; the message goes on from it."""


class Property(Struct, frozen=True):
    """A field at the end of relations, ``is_many`` when one of them leads to several rows."""

    path: Path
    model: EntityModel
    field: FieldModel
    is_many: bool


class Filtered(Struct, frozen=True):
    """What a filter's name asks of a property; neither operator nor bound: to be one of the values given."""

    of: Property
    operator: Operator | None = None
    bound: Bound | None = None


@dataclass(frozen=True)
class Vocabulary:
    """Words match without regard to case; what is hidden is no word at all."""

    registry: Registry
    model: EntityModel
    hidden: Hidden

    def filtered(self, name: str) -> Filtered:
        """``[<relation>.]<property>[.<operator>]``, or a bound for the property. Raises NotAWord."""
        start, word, rest = self._walk(name)
        found = self._spoken_of(start.model, word)
        if found is None:
            raise NotAWord(self._hint(start, word, with_bounds=True))
        one, bound = found
        asked = Property(Path(start.steps, one.name), start.model, one, start.is_many)
        if not rest:
            return Filtered(asked, bound=bound)
        if bound is not None or len(rest) > 1:
            raise NotAWord(f"takes no operator: {rest[0]!r} comes after a bound or an operator")
        return Filtered(asked, operator=_operator(one, rest[0]))

    def property(self, name: str) -> Property:
        """``[<relation>.]<property>``. Raises NotAWord."""
        start, word, rest = self._walk(name)
        one = self._field(start.model, word)
        if one is None or rest:
            raise NotAWord(self._hint(start, ".".join((word, *rest))))
        return Property(Path(start.steps, one.name), start.model, one, start.is_many)

    def own_field(self, name: str) -> FieldModel:
        one = self._field(self.model, name)
        if one is None:
            raise NotAWord(unknown_name(name, [one.wire for one in self.seen(self.model)]))
        return one

    def relations(self, name: str) -> tuple[Relation, ...]:
        """``<relation>[.<relation>]``, at most three. Raises NotAWord."""
        start, found, words = _Start((), self.model, False), list[Relation](), name.split(".")
        if len(words) > MAX_STEPS:
            raise NotAWord(f"goes deeper than {MAX_STEPS} relations")
        for word in words:
            relation = self._relation(start.model, word)
            if relation is None:
                known = [start.prefix + name for name in self.relation_names(start.model)]
                raise NotAWord(unknown_name(start.prefix + word, known))
            found.append(relation)
            start = self._step(start, relation)
        return tuple(found)

    def seen(self, model: EntityModel) -> list[FieldModel]:
        return [one for one in model.fields if not self._hides(model, one.name)]

    def relation_names(self, model: EntityModel) -> list[str]:
        return [name for name, one in model.relations.items() if not self._hides(self._holder(model, one), one.by)]

    def filter_words(self, model: EntityModel) -> Iterator[str]:
        """What may stand in a filter's name before an operator, relations aside."""
        for one in self.seen(model):
            yield one.wire
            yield from (bound.name(one.wire) for bound in BOUNDS if one.kind in bound.kinds)
        if self._field(model, "created") is not None:
            yield from ("createdAfter", "createdBefore", "updatedAfter", "updatedBefore")

    def _walk(self, name: str) -> tuple["_Start", str, list[str]]:
        """Through all relations that a name begins with, to the word after them and what is left."""
        start, words = _Start((), self.model, False), name.split(".")
        while len(words) > 1 and (relation := self._relation(start.model, words[0])) is not None:
            if len(start.steps) == MAX_STEPS:
                raise NotAWord(f"goes through more than {MAX_STEPS} relations")
            start = self._step(start, relation)
            words = words[1:]
        return start, words[0], words[1:]

    def _step(self, start: "_Start", relation: Relation) -> "_Start":
        is_many = start.is_many or relation.is_many
        return _Start((*start.steps, relation.name), self.registry.target(relation), is_many)

    def _spoken_of(self, model: EntityModel, word: str) -> tuple[FieldModel, Bound | None] | None:
        """A property that is really called so wins over a bound."""
        if (one := self._field(model, word)) is not None:
            return one, None
        for bound in BOUNDS:
            name = bound.property_in(word.lower())
            one = self._field(model, name) if name else None
            if one is not None and one.kind in bound.kinds:
                return one, bound
        return None

    def _field(self, model: EntityModel, word: str) -> FieldModel | None:
        name = word.lower()
        one = model.by_wire.get(name) or model.by_wire.get(SHORT_NAMES.get(name, ""))
        return None if one is None or self._hides(model, one.name) else one

    def _relation(self, model: EntityModel, word: str) -> Relation | None:
        names = (name for name in self.relation_names(model) if name.lower() == word.lower())
        return next((model.relations[name] for name in names), None)

    def _holder(self, model: EntityModel, relation: Relation) -> EntityModel:
        """The entity whose field a relation hangs on: hidden, it hides the relation as well."""
        return self.registry.target(relation) if relation.is_many else model

    def _hides(self, model: EntityModel, name: str) -> bool:
        return (model.plural, name) in self.hidden

    def _hint(self, start: "_Start", word: str, *, with_bounds: bool = False) -> str:
        if (relation := self._relation(start.model, word)) is not None:
            way = start.prefix + relation.name
            return f"is a relation: name a property of it, such as {way}.id"
        own = self.filter_words(start.model) if with_bounds else (one.wire for one in self.seen(start.model))
        return unknown_name(
            start.prefix + word, [start.prefix + one for one in (*own, *self.relation_names(start.model))]
        )


class _Start(Struct, frozen=True):
    """Where a name has led so far."""

    steps: tuple[str, ...]
    model: EntityModel
    is_many: bool

    @property
    def prefix(self) -> str:
        return "".join(f"{step}." for step in self.steps)


def _operator(one: FieldModel, word: str) -> Operator:
    fitting = OPERATORS[one.kind]
    operator = BY_NAME.get(word.lower())
    if operator not in fitting:
        listed = ", ".join(operator.value for operator in fitting)
        raise NotAWord(f"has no operator {word!r}: on {one.kind.value} there are {listed}")
    return operator
