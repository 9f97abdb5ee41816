"""Own rows, shares and links as a model of plain values: no module of the service is imported here.

Users go by their names. A method for a write returns the error code, or None after the change.
"""

from dataclasses import dataclass, field
from typing import Any

Code = str | None
Checks = list[tuple[str, bool]]
"""Error codes in the order of the checks, each with whether it applies."""

_LEVELS = {"read": ("read", "update"), "update": ("update",)}


@dataclass(eq=False)
class Row:
    """A note or a label; the values of a note are title, points, reader, group and labels."""

    plural: str
    creator: str
    values: dict[str, Any]
    is_deleted: bool = False
    shares: dict[str, str] = field(default_factory=dict)


@dataclass
class OwnedRows:
    rights: dict[str, frozenset[str]] = field(default_factory=dict)
    seats: set[tuple[str, str]] = field(default_factory=set)
    """Groups with their users."""
    rows: list[Row] = field(default_factory=list)

    def may(self, user: str, action: str, plural: str) -> bool:
        return not self.rights[user].isdisjoint((f"{action}:{plural}", f"{action}-own:{plural}"))

    def is_bound(self, user: str, action: str, plural: str) -> bool:
        """Whether the user may do this to own rows only."""
        return f"{action}:{plural}" not in self.rights[user] and f"{action}-own:{plural}" in self.rights[user]

    def hides(self, user: str, plural: str) -> bool:
        own = any(f"{action}-own:{plural}" in self.rights[user] for action in ("read", "update", "delete"))
        return own and f"read:{plural}" not in self.rights[user]

    def is_own(self, user: str, row: Row, action: str) -> bool:
        if row.plural == "labels":
            return row.creator == user
        is_shared = row.shares.get(user) in _LEVELS.get(action, ())
        return row.values["reader"] == user or (row.values["group"], user) in self.seats or is_shared

    def sees(self, user: str, row: Row, *, deleted: bool = False) -> bool:
        shows_deleted = deleted and (not self.is_bound(user, "delete", row.plural) or self.is_own(user, row, "delete"))
        is_within = not self.hides(user, row.plural) or self.is_own(user, row, "read")
        return is_within and (shows_deleted or not row.is_deleted)

    def seen(self, user: str, plural: str, *, deleted: bool = False) -> list[Row]:
        return [row for row in self.rows if row.plural == plural and self.sees(user, row, deleted=deleted)]

    def labels(self, user: str, note: Row) -> set[Row]:
        return {label for label in note.values["labels"] if self.sees(user, label)}

    def create(self, user: str, row: Row) -> Code:
        bound = self.is_bound(user, "read", row.plural) or self.is_bound(user, "update", row.plural)
        unseen = any(not self.sees(user, label) for label in row.values.get("labels", ()))
        checks = [("FORBIDDEN", not self.may(user, "create", row.plural)), ("VALIDATION_ERROR", unseen)]
        checks += [("FORBIDDEN", bound and not self.is_own(user, row, "read")), ("CONFLICT", self._is_taken(row))]
        code = first(checks)
        self.rows += [] if code else [row]
        return code

    def change(self, user: str, note: Row, sent: dict[str, Any]) -> Code:
        sees, linked = self.sees(user, note), note.values["labels"]
        known = linked if sees else set()
        changed = sent | ({"labels": linked - self.labels(user, note) | sent["labels"]} if "labels" in sent else {})
        after = Row("notes", note.creator, note.values | changed, shares=note.shares)
        unseen = any(label not in known and not self.sees(user, label) for label in sent.get("labels", ()))
        limited = self.hides(user, "notes") or self.is_bound(user, "update", "notes")
        loses = limited and not sent.keys().isdisjoint(("reader", "group")) and not self.is_own(user, after, "read")
        checks = [("FORBIDDEN", not self.may(user, "update", "notes")), ("VALIDATION_ERROR", unseen)]
        checks += [*self._obstacles(user, note, "update"), ("FORBIDDEN", loses)]
        return first(checks) or note.values.update(changed)

    def upsert(self, user: str, row: Row) -> Code:
        live = [each for each in self.rows if each.plural == "notes" and not each.is_deleted]
        found = next((each for each in live if each.values["title"] == row.values["title"]), None)
        if not (self.may(user, "create", "notes") and self.may(user, "update", "notes")):
            return "FORBIDDEN"
        if found is None or not self.sees(user, found):
            return self.create(user, row)
        return self.change(user, found, {"points": row.values["points"]})

    def link(self, user: str, note: Row, label: Row) -> Code:
        checks = [("FORBIDDEN", not self.may(user, "update", "notes")), *self._obstacles(user, note, "update")]
        checks += [("VALIDATION_ERROR", label not in note.values["labels"] and not self.sees(user, label))]
        return first(checks) or note.values["labels"].add(label)

    def unlink(self, user: str, note: Row, label: Row) -> Code:
        checks = [("FORBIDDEN", not self.may(user, "update", "notes")), *self._obstacles(user, note, "update")]
        checks += [("NOT_FOUND", label not in self.labels(user, note))]
        return first(checks) or note.values["labels"].remove(label)

    def delete(self, user: str, row: Row) -> Code:
        checks = [("FORBIDDEN", not self.may(user, "delete", row.plural)), *self._obstacles(user, row, "delete")]
        code = first(checks)
        row.is_deleted = row.is_deleted or code is None
        return code

    def restore(self, user: str, row: Row) -> Code:
        checks = [("FORBIDDEN", not self.may(user, "delete", row.plural))]
        checks += [*self._obstacles(user, row, "delete", deleted=True), ("CONFLICT", not row.is_deleted)]
        code = first([*checks, ("CONFLICT", self._is_taken(row))])
        row.is_deleted = row.is_deleted and code is not None
        return code

    def share(self, user: str, note: Row, whom: str, level: str | None) -> Code:
        """Without a level the share ends."""
        asked = ("share", "update", *(("read",) if level else ()))
        checks = [("FORBIDDEN", not all(self.may(user, action, "notes") for action in asked))]
        checks += self._obstacles(user, note, "update")
        checks += [("VALIDATION_ERROR", level is not None and whom == user)]
        code = first([*checks, ("NOT_FOUND", level is None and whom not in note.shares)])
        note.shares = note.shares if code else {**note.shares, whom: level} if level else without(note.shares, whom)
        return code

    def _obstacles(self, user: str, row: Row, action: str, *, deleted: bool = False) -> Checks:
        """An unseen row comes first, then one that is not own."""
        is_bound = self.is_bound(user, action, row.plural) and not self.is_own(user, row, action)
        return [("NOT_FOUND", not self.sees(user, row, deleted=deleted)), ("FORBIDDEN", is_bound)]

    def _is_taken(self, row: Row) -> bool:
        others = [each for each in self.rows if each.plural == row.plural == "notes" and each is not row]
        return any(not each.is_deleted and each.values["title"] == row.values["title"] for each in others)


def first(checks: Checks) -> Code:
    return next((code for code, applies in checks if applies), None)


def without(shares: dict[str, str], user: str) -> dict[str, str]:
    return {name: level for name, level in shares.items() if name != user}
