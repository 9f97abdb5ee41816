"""Markers of a declaration: ``@entity``, and its arguments and field annotations."""

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Literal, TypeVar, cast

from msgspec import Struct

T = TypeVar("T", bound=type[Struct])
V = TypeVar("V")

OnDeleteReferred = Literal["restrict", "cascade", "clear"]
OnDeleteLinked = Literal["drop", "restrict"]
OnDelete = OnDeleteReferred | OnDeleteLinked
OnLeave = Literal["restrict", "clear", "keep"]
WidgetName = Literal["multiline", "color", "url"]

MEMBERS = "members"
"""Plural of the built-in entity of the tenant's members."""


class Money(Struct, frozen=True):
    precision: int
    scale: int
    ge: Decimal | None = None
    le: Decimal | None = None


class Reference(Struct, frozen=True):
    """A to-one relation: the field holds a row id of ``target``, the plural of another entity.

    ``on_leave`` is set for references to members, made by ``member(…)``.
    """

    target: str
    on_delete: OnDeleteReferred
    relation: str | None = None
    permanent: bool = False
    on_leave: OnLeave | None = None

    @property
    def may_dangle(self) -> bool:
        """Whether the row may be gone: no foreign key protects the reference."""
        return self.on_leave == "keep"


class Links(Struct, frozen=True):
    """A many-to-many relation: the field holds the ids of at most ``limit`` rows of ``target``, in order."""

    target: str
    limit: int
    on_delete: OnDeleteLinked
    relation: str | None = None


class Guard(Struct, frozen=True):
    """Permissions of a single field; without ``read`` the field does not exist for the caller."""

    read: str | None = None
    write: str | None = None


UNGUARDED = Guard()


class Big(Struct, frozen=True):
    pass


class Label(Struct, frozen=True):
    text: str


class HelpText(Struct, frozen=True):
    text: str


class Widget(Struct, frozen=True):
    name: WidgetName


class Many(Struct, frozen=True):
    target: str
    by: str


class Unique(Struct, frozen=True):
    """A unique constraint per tenant among live rows; ``ignore_case`` compares text without case."""

    fields: tuple[str, ...]
    ignore_case: bool = False


class DeclaredIndex(Struct, frozen=True):
    """An index for finding and sorting rows by several fields."""

    fields: tuple[str, ...]


class Mine(Struct, frozen=True, tag=True):
    """An ownership rule: the field holds the caller's id."""

    field: str


class Through(Struct, frozen=True, tag=True):
    """An ownership rule: ``field`` of a row at the end of two relations holds the caller's id."""

    to_one: str
    to_many: str
    field: str


OwnRule = Mine | Through


def money(precision: int, scale: int, ge: int | str | None = None, le: int | str | None = None) -> Money:
    """Declare a decimal of ``precision`` digits, ``scale`` of them after the point; the service refuses other values
    and never rounds.

    Example: ``price: Annotated[Decimal, money(12, 2, ge=0)]`` accepts ``9999999999.99`` and refuses ``0.001``.
    """
    return Money(precision, scale, _bound(ge), _bound(le))


def _bound(bound: int | str | None) -> Decimal | None:
    try:
        # Convert a float by its decimal digits, because its binary value differs slightly from the literal.
        return None if bound is None else Decimal(bound if type(bound) is int else str(bound))
    except ArithmeticError:
        return cast(Decimal, bound)  # reported when the entity is read


def ref(
    target: str, on_delete: OnDeleteReferred = "restrict", relation: str | None = None, *, permanent: bool = False
) -> Reference:
    """Declare a reference to rows of ``target``: ``category_id: Annotated[UUID, ref("categories")]``.

    Deleting the target is refused with ``restrict``, deletes this row too with ``cascade``, or sets null with
    ``clear``. ``relation`` is the name for ``include`` and filters; by default the field's name without ``_id``.
    ``permanent`` allows a cascade from soft-deletable rows to rows without soft delete.
    """
    return Reference(target, on_delete, relation, permanent)


def links(target: str, *, limit: int = 100, on_delete: OnDeleteLinked = "drop", relation: str | None = None) -> Links:
    """Declare links to rows of ``target``: ``tag_ids: Annotated[list[UUID], links("tags", limit=100)] = []``.

    With ``drop``, links end when their target is deleted permanently; ``restrict`` refuses to delete a linked row.
    ``relation`` is the name for ``include``, filters and routes; by default the plural of the name without ``_ids``.
    """
    return Links(target, limit, on_delete, relation)


def member(on_leave: OnLeave = "restrict", relation: str | None = None) -> Reference:
    """Declare a reference to a member of the tenant: ``assignee_id: Annotated[UUID | None, member(on_leave="clear")]``.

    The end of the membership is refused with ``restrict``, sets null with ``clear``, or leaves the id with ``keep``.
    """
    return Reference(MEMBERS, "restrict", relation, on_leave=on_leave)


def many(target: str, by: str) -> Many:
    """Declare a to-many relation, for ``has_many``: ``{"products": many("products", by="category_id")}``.

    ``by`` is the reference of the related rows, or their links.
    """
    return Many(target, by)


def mine(field: str) -> Mine:
    """Declare that a row is the caller's own if the field holds the caller's id: ``own=[mine("created_by")]``."""
    return Mine(field)


def through(to_one: str, to_many: str, field: str) -> Through:
    """Declare that a row is the caller's own if a related row holds the caller's id.

    Example: ``through("project", "members", "user_id")`` follows the relation ``project`` of the row, then the relation
    ``members`` of the project. Only live rows count.
    """
    return Through(to_one, to_many, field)


def unique(*fields: str, ignore_case: bool = False) -> Unique:
    """Declare a unique constraint over one or more fields: ``unique("name", ignore_case=True)``."""
    return Unique(fields, ignore_case)


def index(*fields: str) -> DeclaredIndex:
    """Declare an index for a combined filter and sort.

    Example: ``index("category_id", "price")`` serves ``categoryId=…&minPrice=10&sort=price``. Put fields compared for
    equality first, the sorted or bounded one last.
    """
    return DeclaredIndex(fields)


def guarded(read: str | None = None, write: str | None = None) -> Guard:
    """Declare permissions of one field: ``Annotated[str, guarded(read="read:salaries", write="update:salaries")]``."""
    return Guard(read, write)


def label(text: str) -> Label:
    """Declare a field's name on screens: ``Annotated[Decimal, money(12, 2), label("Price")]``.

    The default comes from the field's name: ``released_at`` is "Released at".
    """
    return Label(text)


def help_text(text: str) -> HelpText:
    """Declare a sentence that screens show next to a field, and that describes the field in the OpenAPI document."""
    return HelpText(text)


def widget(name: WidgetName) -> Widget:
    """Declare how screens show and edit a text: multi-line, as a colour, or as a link."""
    return Widget(name)


big = Big()


class Declaration(Struct, frozen=True, kw_only=True):
    """The arguments of ``@entity``.

    ``plural`` is the path in kebab-case and the resource of the permissions; ``search`` are the text fields that
    ``?search=`` looks at, and ``search_index`` says whether an index finds them, which every write keeps up to date;
    ``sort`` is the default order, a field with ``-`` before it for descending.
    ``tenant_owned=False`` makes rows that all tenants share and super-admins write; ``soft_delete=False`` deletes rows
    for good; ``writable=False`` leaves only the reading routes; ``history`` records each change; ``changes`` adds each
    change to the feed; ``shows_tenant`` adds ``tenantId`` to the response. ``check_reads`` are the fields that
    ``check`` looks at, None for all: changes of others skip it, and it raises LookupError if it reads another.
    ``indexes`` are further indexes, for filters and sorts that belong together. For screens, ``title`` is the name of
    the entity's rows, ``display`` the field that names a row, and ``columns`` are the fields of a table of rows;
    ``presentation`` has what holds without them.
    ``shared_with`` is the field with the ids of the tenants that see a row of an entity that is not tenant-owned; null
    stands for all tenants. Super-admins see every row, and they alone the field, which names other tenants.
    With ``by_people``, service accounts may not write rows.
    ``own`` are the ownership rules: a row is the caller's own if one of them holds. They register the permissions
    ``read-own:…``, ``update-own:…`` and ``delete-own:…``. With ``shared``, shares name further
    users of a row, and the permission ``share:…`` manages them.
    ``is_view`` marks rows that the service derives from its own tables; ``read_with`` is a further permission that
    allows reading.
    """

    plural: str
    search: tuple[str, ...]
    unique: tuple[Unique, ...]
    has_many: Mapping[str, Many]
    tenant_owned: bool
    soft_delete: bool
    writable: bool
    history: bool
    shows_tenant: bool
    sort: str
    check_reads: frozenset[str] | None
    indexes: tuple[DeclaredIndex, ...] = ()
    search_index: bool = True
    title: str | None = None
    display: str | None = None
    columns: tuple[str, ...] | None = None
    shared_with: str | None = None
    by_people: bool = False
    own: tuple[OwnRule, ...] = ()
    shared: bool = False
    changes: bool = False
    is_view: bool = False
    read_with: str | None = None


def entity(  # noqa: PLR0913  # 19, each a rule that authors state by name; most state three
    plural: str,
    *,
    search: Sequence[str] = (),
    search_index: bool = True,
    unique: Sequence[Unique] = (),
    has_many: Mapping[str, Many] | None = None,
    tenant_owned: bool = True,
    soft_delete: bool = True,
    writable: bool = True,
    history: bool = False,
    changes: bool = False,
    shows_tenant: bool = False,
    sort: str = "-created_at",
    check_reads: Sequence[str] | None = None,
    indexes: Sequence[DeclaredIndex] = (),
    title: str | None = None,
    display: str | None = None,
    columns: Sequence[str] | None = None,
    own: Sequence[OwnRule] = (),
    shared: bool = False,
) -> Callable[[T], T]:
    """Declare a struct as an entity: ``@entity("books")`` serves ``/api/books``. ``Declaration`` has the arguments."""
    declaration = Declaration(
        plural=plural,
        search=_listed(search),
        unique=_listed(unique),
        has_many={} if has_many is None else has_many,
        tenant_owned=tenant_owned,
        soft_delete=soft_delete,
        writable=writable,
        history=history,
        changes=changes,
        shows_tenant=shows_tenant,
        sort=sort,
        check_reads=None if check_reads is None else _set_of(check_reads),
        indexes=_listed(indexes),
        search_index=search_index,
        title=title,
        display=display,
        columns=None if columns is None else _listed(columns),
        own=_listed(own),
        shared=shared,
    )
    # ``@entity`` without brackets receives the struct: its registry reports that error with the others.
    given: object = plural
    declare: Any = partial(_declared, declaration)
    return declare(given) if isinstance(given, type) else declare  # type: ignore[no-any-return]  # as annotated


def _declared(declaration: Declaration, kind: T) -> T:
    kind.__entity__ = declaration  # type: ignore[attr-defined]  # the one mark a declaration leaves
    return kind


def is_list(given: object) -> bool:
    """Return whether ``given`` is a list of items: not a text or a dict."""
    return isinstance(given, Collection) and not isinstance(given, str | bytes | Mapping)


def _listed(given: Sequence[V]) -> tuple[V, ...]:
    # Do not check types here: an error during the import would hide the entity and all other errors.
    return tuple(given) if is_list(given) else cast("tuple[V, ...]", given)


def _set_of(given: Sequence[str]) -> frozenset[str]:
    is_set = is_list(given) and all(isinstance(name, str) for name in given)
    return frozenset(given) if is_set else cast("frozenset[str]", given)
