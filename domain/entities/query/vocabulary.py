"""Parses names in an entity's query parameters: properties, relations, and their short forms."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct

from domain.entities.declaration import EntityModel, FieldModel, Hidden, Registry, Relation
from domain.entities.query.kinds import BOUNDS, BY_NAME, QUERY_KINDS, Bound
from domain.entities.query.query import MAX_STEPS, Operator, Path
from domain.errors import unknown_name

SHORT_NAMES = {"created": "createdat", "updated": "updatedat"}


class NotAWord(Exception):
    """Error for an unknown name. The message explains it: "colour is not known; did you mean 'color'?"."""


class Property(Struct, frozen=True):
    """A field at the end of a path of relations; ``is_many`` if a relation of the path leads to several rows."""

    path: Path
    model: EntityModel
    field: FieldModel
    is_many: bool


class Filtered(Struct, frozen=True):
    """Parsed name of a filter: a property with an operator or a bound. Without both, it compares for equality."""

    of: Property
    operator: Operator | None = None
    bound: Bound | None = None


@dataclass(frozen=True)
class Vocabulary:
    """Names for a caller's queries; case is ignored, and hidden fields do not exist."""

    registry: Registry
    model: EntityModel
    hidden: Hidden

    def filtered(self, name: str) -> Filtered:
        """Read ``[<relation>.]<property>[.<operator>]``, or a bound instead of the property. Raises NotAWord.

        Examples: ``category.name.contains``, ``minPrice``, ``createdAfter``.
        """
        position, word, rest = self._walk(name)
        found = self._field_or_bound(position.model, word)
        if found is None:
            raise NotAWord(self._hint(position, word, with_bounds=True))
        field, bound = found
        found_property = Property(Path(position.steps, field.name), position.model, field, position.is_many)
        if not rest:
            return Filtered(found_property, bound=bound)
        if bound is not None or len(rest) > 1:
            raise NotAWord(f"does not accept an operator: {rest[0]!r} comes after a bound or an operator")
        return Filtered(found_property, operator=_operator(field, rest[0]))

    def property(self, name: str) -> Property:
        """Parse ``[<relation>.]<property>``. Raises NotAWord."""
        position, word, rest = self._walk(name)
        field = self._field(position.model, word)
        if field is None or rest:
            raise NotAWord(self._hint(position, ".".join((word, *rest))))
        return Property(Path(position.steps, field.name), position.model, field, position.is_many)

    def own_field(self, name: str) -> FieldModel:
        """Return the entity's own property of this name. Raises NotAWord."""
        field = self._field(self.model, name)
        if field is None:
            raise NotAWord(unknown_name(name, [field.wire for field in self.visible(self.model)]))
        return field

    def relations(self, name: str) -> tuple[Relation, ...]:
        """Read ``<relation>[.<relation>]``, at most three. Raises NotAWord."""
        position, found, words = _Position((), self.model, False), list[Relation](), name.split(".")
        if len(words) > MAX_STEPS:
            raise NotAWord(f"goes deeper than {MAX_STEPS} relations")
        for word in words:
            relation = self._relation(position.model, word)
            if relation is None:
                known = [position.prefix + name for name in self.relation_names(position.model)]
                raise NotAWord(unknown_name(position.prefix + word, known))
            found.append(relation)
            position = self._step(position, relation)
        return tuple(found)

    def visible(self, model: EntityModel) -> list[FieldModel]:
        """Return the entity's fields visible to the caller."""
        return [field for field in model.fields if not self._hides(model, field.name)]

    def relation_names(self, model: EntityModel) -> list[str]:
        """Return the relations available to the caller."""
        return [relation.name for relation in self.registry.relations_of(model, self.hidden)]

    def filter_words(self, model: EntityModel) -> Iterator[str]:
        """Return the first names allowed in a filter, without relations, to choose hints from."""
        for field in self.visible(model):
            yield field.wire
            yield from (bound.name(field.wire) for bound in QUERY_KINDS[field.kind].bounds)
        if self._field(model, "created") is not None:
            yield from ("createdAfter", "createdBefore", "updatedAfter", "updatedBefore")

    def _walk(self, name: str) -> tuple["_Position", str, list[str]]:
        # The position after all leading relations, the next word and the remaining words.
        position, words = _Position((), self.model, False), name.split(".")
        while len(words) > 1 and (relation := self._relation(position.model, words[0])) is not None:
            if len(position.steps) == MAX_STEPS:
                raise NotAWord(f"goes through more than {MAX_STEPS} relations")
            position = self._step(position, relation)
            words = words[1:]
        return position, words[0], words[1:]

    def _step(self, position: "_Position", relation: Relation) -> "_Position":
        is_many = position.is_many or relation.is_many
        return _Position((*position.steps, relation.name), self.registry.target(relation), is_many)

    def _field_or_bound(self, model: EntityModel, word: str) -> tuple[FieldModel, Bound | None] | None:
        # A property called ``minPrice`` has priority over the bound.
        if (field := self._field(model, word)) is not None:
            return field, None
        for bound in BOUNDS:
            name = bound.property_in(word.lower())
            field = self._field(model, name) if name else None
            if field is not None and bound in QUERY_KINDS[field.kind].bounds:
                return field, bound
        return None

    def _field(self, model: EntityModel, word: str) -> FieldModel | None:
        name = word.lower()
        field = model.by_wire.get(name) or model.by_wire.get(SHORT_NAMES.get(name, ""))
        return None if field is None or self._hides(model, field.name) else field

    def _relation(self, model: EntityModel, word: str) -> Relation | None:
        names = (name for name in self.relation_names(model) if name.lower() == word.lower())
        return next((model.relations[name] for name in names), None)

    def _hides(self, model: EntityModel, name: str) -> bool:
        return (model.plural, name) in self.hidden

    def _hint(self, position: "_Position", word: str, *, with_bounds: bool = False) -> str:
        if (relation := self._relation(position.model, word)) is not None:
            way = position.prefix + relation.name
            return f"is a relation: name a property of it, such as {way}.id"
        own = (
            self.filter_words(position.model) if with_bounds else (field.wire for field in self.visible(position.model))
        )
        known = (*own, *self.relation_names(position.model))
        return unknown_name(position.prefix + word, [position.prefix + name for name in known])


# The position reached by the words read so far.
class _Position(Struct, frozen=True):
    steps: tuple[str, ...]
    model: EntityModel
    is_many: bool

    @property
    def prefix(self) -> str:
        return "".join(f"{step}." for step in self.steps)


def _operator(field: FieldModel, word: str) -> Operator:
    fitting = QUERY_KINDS[field.kind].operators
    operator = BY_NAME.get(word.lower())
    if operator not in fitting:
        listed = ", ".join(operator.value for operator in fitting)
        raise NotAWord(f"has no operator {word!r}: on {field.kind.value} there are {listed}")
    return operator
