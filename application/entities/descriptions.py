"""Descriptions of the entities that a caller may read, for generic clients."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from msgspec import UNSET

from application.entities.description_forms import (
    ChoiceDescription,
    EntityDescription,
    EntityFeatures,
    EntityLimits,
    EntityList,
    EntityRights,
    FieldDescription,
    FieldRules,
    RelationDescription,
)
from domain.entities.attachments.files import relation_of
from domain.entities.attachments.marks import Attachment
from domain.entities.declaration import ACTIONS_ON_OWN, EntityModel, FieldModel, Hidden, Registry
from domain.entities.markers import Mine
from domain.entities.owning import is_limited
from domain.entities.query.kinds import QUERY_KINDS, is_sortable, leads_an_index
from domain.entities.query.query import default_sort, searched
from domain.entities.query.read_query import MAX_PAGE_SIZE
from domain.entities.query.vocabulary import Vocabulary
from domain.entities.screens.choices import shown_choices
from domain.entities.screens.field_rules import rules_of
from domain.entities.screens.presentation import (
    columns_of,
    display_of,
    entity_title,
    field_title,
    widget_of,
)
from domain.entities.transactions.items import MOST_ITEMS
from domain.parts.part import AdministrationArea
from domain.scope import Rights


@dataclass(frozen=True)
class Descriptions:
    registry: Registry
    areas: Sequence[AdministrationArea]

    def all(self, rights: Rights) -> EntityList:
        """Return all entities that a caller with these rights may read, with the permitted operations."""
        hidden = self.registry.hidden_from(rights)
        readable = [model for model in self.registry if _may(model, rights, "read")]
        describer = _Describer(self.registry, rights, hidden, frozenset(model.plural for model in readable))
        areas = [area.name for area in self.areas if area.is_open_to(rights)]
        return EntityList(entities=[describer.entity(model) for model in readable], areas=areas)


@dataclass(frozen=True)
class _Describer:
    registry: Registry
    rights: Rights
    hidden: Hidden
    readable: frozenset[str]

    def entity(self, model: EntityModel) -> EntityDescription:
        visible = self._visible(model)
        display = display_of(model, visible)
        return EntityDescription(
            plural=model.plural,
            name=model.name,
            title=entity_title(model),
            display=display.wire if display else None,
            columns=[field.wire for field in columns_of(model, visible)],
            may=_rights(model, self.rights),
            own=_limited_to_own(model, self.rights),
            mine=[field.wire for field in visible if Mine(field.name) in model.declaration.own],
            has=self._features(model),
            sort=self._sort(model),
            limits=EntityLimits(page_size=MAX_PAGE_SIZE, batch=MOST_ITEMS),
            fields=[self._field(model, field) for field in visible],
            relations=self._relations(model),
            unique=self._unique(model, visible),
        )

    def _visible(self, model: EntityModel) -> list[FieldModel]:
        return Vocabulary(self.registry, model, self.hidden).visible(model)

    def _features(self, model: EntityModel) -> EntityFeatures:
        return EntityFeatures(
            soft_delete=model.soft_delete,
            history=model.declaration.history,
            shares=model.declaration.shared,
            changes=model.declaration.changes,
            search=[model.by_name[name].wire for name in searched(model, self.hidden)],
            tenant_owned=model.tenant_owned,
        )

    def _sort(self, model: EntityModel) -> str:
        """Default order as in ``sort``, without the id: ``createdAt:desc``."""
        first = default_sort(model, self.hidden)[0]
        return f"{model.by_name[first.path.field].wire}:{'desc' if first.descending else 'asc'}"

    def _field(self, model: EntityModel, field: FieldModel) -> FieldDescription:
        described = FieldDescription(
            name=field.wire,
            title=field_title(field),
            kind=_kind(field),
            required=field.required and not field.server_owned,
            nullable=field.nullable,
            default=None if field.default is UNSET else _plain(field.default),
            writable=self._is_writable(model, field),
            rules=FieldRules(**rules_of(field)),
            operators=[operator.value for operator in QUERY_KINDS[field.kind].operators],
            sortable=is_sortable(field),
            indexed=leads_an_index(model, field),
            help=field.help_text,
            widget=widget_of(field),
            choices=_choices(field) if field.choices else UNSET,
        )
        if field.attachment is not None:
            return _attachment(model, field, field.attachment, described)
        return described if field.target is None else self._reference(model, field, described)

    def _reference(self, model: EntityModel, field: FieldModel, described: FieldDescription) -> FieldDescription:
        relation = next(
            name for name, found in model.relations.items() if not found.is_inverse and found.by == field.name
        )
        target = self.registry[model.relations[relation].target]
        # Security: only callers with read access to the target may see a row's name.
        display = display_of(target, self._visible(target)) if target.plural in self.readable else None
        described.target, described.relation = target.plural, relation
        described.target_display = display.wire if display else None
        if field.reference is not None and field.reference.on_leave is not None:
            described.on_leave = field.reference.on_leave
        else:
            described.on_delete = model.relations[relation].on_delete
        return described

    def _is_writable(self, model: EntityModel, field: FieldModel) -> bool:
        return not field.server_owned and model.declaration.writable and _may_send(field, self.rights)

    def _relations(self, model: EntityModel) -> list[RelationDescription]:
        names = Vocabulary(self.registry, model, self.hidden).relation_names(model)
        relations = [model.relations[name] for name in names if model.relations[name].target in self.readable]
        return [
            RelationDescription(
                name=relation.name,
                target=relation.target,
                by=self.registry[relation.holder].by_name[relation.by].wire,
                many=relation.is_many,
            )
            for relation in relations
        ]

    def _unique(self, model: EntityModel, visible: Iterable[FieldModel]) -> list[list[str]]:
        wires = {field.name: field.wire for field in visible}
        return [
            [wires[name] for name in unique.fields] for unique in model.unique if wires.keys() >= set(unique.fields)
        ]


def _attachment(
    model: EntityModel, field: FieldModel, rules: Attachment, described: FieldDescription
) -> FieldDescription:
    described.relation = relation_of(model, field)
    described.rules.types, described.rules.max_bytes = list(rules.types), rules.max_bytes
    if rules.thumbnails:
        described.rules.thumbnails = rules.sizes
    if rules.limit is not None:
        described.rules.limit, described.rules.max_length = rules.limit, UNSET
    return described


def _rights(model: EntityModel, rights: Rights) -> EntityRights:
    # Only super-admins may write shared rows, regardless of permissions.
    can_write = model.declaration.writable and (model.tenant_owned or rights.is_super_admin)
    create, update, delete, purge = (
        can_write and _may(model, rights, action) for action in ("create", "update", "delete", "purge")
    )
    return EntityRights(
        create=create and all(_may_send(field, rights) for field in model.declared if field.required),
        read=True,
        update=update,
        delete=delete,
        purge=purge and model.can_be_purged,
        import_=create,
        export=True,
    )


def _limited_to_own(model: EntityModel, rights: Rights) -> list[str]:
    return [action for action in ACTIONS_ON_OWN if is_limited(model, rights, action)]


def _may(model: EntityModel, rights: Rights, action: str) -> bool:
    return any(map(rights.may, model.permissions(action)))


def _may_send(field: FieldModel, rights: Rights) -> bool:
    needed = field.guard.write or field.guard.read
    return needed is None or rights.may(needed)


def _kind(field: FieldModel) -> str:
    """JSON kind of the field: that of its marker, such as ``attachment``, else its own, such as ``bigInteger``."""
    if field.attachment is not None:
        return "attachment" if field.link is None else "attachments"
    if field.reference is not None:
        return "reference" if field.reference.on_leave is None else "member"
    return re.sub(" (.)", lambda found: found[1].upper(), field.kind.value)


def _choices(field: FieldModel) -> list[ChoiceDescription]:
    looks = shown_choices(field.choices, field.choice_looks)
    return [ChoiceDescription(value=value, label=label, color=color) for value, label, color in looks]


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value
