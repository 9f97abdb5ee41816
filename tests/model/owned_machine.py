"""A machine that writes notes for two members and a user without limits, and compares what each of them then reads."""

import asyncio
import csv
import io
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.http.app import Json, TestApp
from tests.model.machine import code_of
from tests.model.owned_rows import Code, OwnedRows, Row

T = TypeVar("T")
DONE: Counter[str] = Counter()
"""Writes and comparisons of all machines of this run, writes by the answer."""

LIMITED, ROOT = ("ann", "bob"), "root"
USERS = (*LIMITED, ROOT)
GROUPS = ("red", "blue")
NOTES, LABELS = ("read", "notes"), ("read", "labels")
MOST_ROWS = 9

_OWNED = [
    f"{action}{own}:{plural}"
    for action in ("read", "update", "delete")
    for own in ("", "-own")
    for plural in ("notes", "labels")
]
EVERYTHING = frozenset([*_OWNED, "create:notes", "create:labels", "share:notes", "read:groups", "read:seats"])
rights = st.frozensets(st.sampled_from(sorted(EVERYTHING)), min_size=6) | st.builds(
    lambda more: more | {"read-own:notes", "read-own:labels", "update-own:notes", "create:notes"},
    st.frozensets(st.sampled_from(sorted(EVERYTHING - {"read:notes", "update:notes"})), max_size=6),
)
users, limited = st.sampled_from(USERS), st.sampled_from(LIMITED)
place = st.integers(0, 10_000)
"""Of something in a list: the list decides what that is."""
values = st.fixed_dictionaries(
    {},
    optional={
        "points": st.integers(0, 9),
        "reader": st.sampled_from((None, *USERS)),
        "group": st.sampled_from((None, *GROUPS)),
        "labels": st.sets(place, max_size=2),
    },
)


@dataclass
class Shop:
    """An application that machines share: each has its own tenant."""

    loop: asyncio.AbstractEventLoop
    app: TestApp

    def run(self, task: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(task)


class OwnedMachine(RuleBasedStateMachine):
    """A subclass sets ``shop``."""

    shop: Shop

    def __init__(self) -> None:
        super().__init__()
        self.model, self.name = OwnedRows(), f"t{uuid4().hex[:12]}"
        self.ids: dict[object, str] = {}

    @initialize(ann=rights, bob=rights)
    def begins(self, ann: frozenset[str], bob: frozenset[str]) -> None:
        app, run = self.shop.app, self.shop.run
        run(app.make_tenant(self.name))
        for user, held in (("ann", ann), ("bob", bob)):
            role = {"name": user, "permissions": sorted(held)}
            self.ids[user, "role"] = data_of(self.ask("POST", "roles", None, role))["id"]
            self.ids[user] = run(app.make_user(self.name, f"{user}@{self.name}.example", [user]))
            self.enter(user, held)
        self.model.rights[ROOT] = EVERYTHING
        app.tokens[f"{ROOT} {self.name}"] = app.tokens[f"root in {self.name}"]
        run(app.make_role(self.name, "all", sorted(EVERYTHING)))
        self.ids[ROOT] = run(app.make_user(self.name, f"root@{self.name}.example", ["all"]))
        run(app.login(f"{ROOT} {self.name}", f"root@{self.name}.example"))
        for group in GROUPS:
            self.ids[group] = data_of(self.ask("POST", "groups", None, {"name": group}))["id"]
        self.seat("ann", "red")

    def enter(self, user: str, held: frozenset[str]) -> None:
        self.shop.run(self.shop.app.login(f"{user} {self.name}", f"{user}@{self.name}.example"))
        self.model.rights[user] = held

    @rule(user=limited, held=rights)
    def change_rights(self, user: str, held: frozenset[str]) -> None:
        body = {"name": user, "permissions": sorted(held)}
        data_of(self.ask("PUT", f"roles/{self.ids[user, 'role']}", None, body))
        self.enter(user, held)

    @rule(user=limited, group=st.sampled_from(GROUPS))
    def seat(self, user: str, group: str) -> None:
        if (group, user) in self.model.seats:
            answer = self.ask("DELETE", f"seats/{self.ids[group, user]}", None)
            assert answer.status_code == 204, answer.text
            self.model.seats.remove((group, user))
        else:
            body = {"groupId": self.ids[group], "userId": self.ids[user]}
            self.ids[group, user] = data_of(self.ask("POST", "seats", None, body))["id"]
            self.model.seats.add((group, user))

    # what the members write

    @precondition(lambda self: len(self.model.rows) < MOST_ROWS)
    @rule(user=users)
    def create_label(self, user: str) -> None:
        name = f"l{len(self.model.rows)}"
        row = Row("labels", user, {"name": name})
        self.compare(self.model.create(user, row), self.ask("POST", "labels", user, {"name": name}), row)

    @precondition(lambda self: len(self.model.rows) < MOST_ROWS)
    @rule(user=users, drawn=values)
    def create_note(self, user: str, drawn: dict[str, Any]) -> None:
        title = f"n{len(self.model.rows)}"
        sent = self.sent(drawn)
        row = Row("notes", user, {"points": 0, "reader": None, "group": None, "labels": set(), **sent, "title": title})
        answer = self.ask("POST", "notes", user, {"title": title, **self.body(sent)})
        self.compare(self.model.create(user, row), answer, row)

    @precondition(lambda self: self.notes)
    @rule(user=users, at=place, drawn=values, way=st.sampled_from(("single", "batch", "operations")))
    def change(self, user: str, at: int, drawn: dict[str, Any], way: str) -> None:
        note, sent = self.notes[at % len(self.notes)], self.sent(drawn)
        note_id, body = self.ids[note], self.body(sent)
        if way == "single":
            answer = self.ask("PUT", f"notes/{note_id}", user, body)
        elif way == "batch":
            answer = self.ask("PUT", "notes/batch", user, {"items": [{"id": note_id, **body}]})
        else:
            operation = {"op": "update", "entity": "notes", "id": note_id, "values": body}
            answer = self.ask("POST", "operations", user, {"operations": [operation]})
        self.compare(self.model.change(user, note, sent), answer)

    @precondition(lambda self: self.notes and len(self.model.rows) < MOST_ROWS)
    @rule(user=users, at=place, points=st.integers(0, 9), is_new=st.booleans())
    def upsert(self, user: str, at: int, points: int, is_new: bool) -> None:
        known = self.notes[at % len(self.notes)].values["title"]
        given = {"title": f"n{len(self.model.rows)}" if is_new else known, "points": points}
        row = Row("notes", user, {"reader": None, "group": None, "labels": set(), **given})
        answer = self.ask("POST", "notes/batch/upsert", user, {"key": "title", "items": [given]})
        before = len(self.model.rows)
        self.compare(self.model.upsert(user, row), answer)
        if len(self.model.rows) > before:
            self.ids[row] = data_of(answer)["items"][0]["id"]

    @precondition(lambda self: self.model.rows)
    @rule(user=users, at=place, is_restored=st.booleans())
    def delete_or_restore(self, user: str, at: int, is_restored: bool) -> None:
        row = self.model.rows[at % len(self.model.rows)]
        path = f"{row.plural}/{self.ids[row]}"
        if is_restored:
            self.compare(self.model.restore(user, row), self.ask("POST", f"{path}/restore", user))
        else:
            self.compare(self.model.delete(user, row), self.ask("DELETE", path, user))

    @precondition(lambda self: self.notes)
    @rule(user=users, at=place, whom=users, level=st.sampled_from(("read", "update", None)))
    def share(self, user: str, at: int, whom: str, level: str | None) -> None:
        note = self.notes[at % len(self.notes)]
        path = f"notes/{self.ids[note]}/shares/{self.ids[whom]}"
        answer = self.ask("PUT", path, user, {"level": level}) if level else self.ask("DELETE", path, user)
        self.compare(self.model.share(user, note, whom, level), answer)

    @precondition(lambda self: self.notes and self.labels)
    @rule(user=users, at=place, which=place, is_added=st.booleans())
    def link(self, user: str, at: int, which: int, is_added: bool) -> None:
        note, label = self.notes[at % len(self.notes)], self.labels[which % len(self.labels)]
        path, label_id = f"notes/{self.ids[note]}/labels", self.ids[label]
        if is_added:
            self.compare(self.model.link(user, note, label), self.ask("POST", path, user, {"ids": [label_id]}))
        else:
            self.compare(self.model.unlink(user, note, label), self.ask("DELETE", f"{path}/{label_id}", user))

    # what must hold after each step

    @invariant()
    def each_user_reads_what_the_model_says(self) -> None:
        for user in LIMITED:
            self.compare_lists(user)
            self.compare_notes(user)
            self.compare_sums(user)
            self.compare_filters(user)
            for row in self.model.rows:
                answer = self.ask("GET", f"{row.plural}/{self.ids[row]}", user)
                expected = None if self.model.sees(user, row) else "NOT_FOUND"
                assert code_of(answer) == (expected if self.model.may(user, "read", row.plural) else "FORBIDDEN")
                DONE["compared"] += 1

    def compare_lists(self, user: str) -> None:
        for plural in ("notes", "labels"):
            for deleted in (False, True):
                asked = f"{plural}?pageSize=100" + ("&includeDeleted=true" if deleted else "")
                needed = [("read", plural), *([("delete", plural)] if deleted else [])]
                seen = self.model.seen(user, plural, deleted=deleted)
                page = self.allowed(user, asked, *needed)
                if page is not None:
                    assert [each["id"] for each in page["items"]] == self.ids_of(seen, plural), (user, asked)
                    assert page["totalCount"] == len(seen)

    def compare_notes(self, user: str) -> None:
        """Fields, includes in both directions, and files."""
        seen = self.model.seen(user, "notes")
        shown = {self.ids[note]: self.shown(user, note) for note in seen}
        if (page := self.allowed(user, "notes?include=labels", NOTES, LABELS)) is not None:
            assert {each["id"]: fields_of(each) for each in page["items"]} == shown, user
            included = {each["id"]: sorted(far["id"] for far in each["labels"]) for each in page["items"]}
            assert included == {row_id: values["labelIds"] for row_id, values in shown.items()}
        if (page := self.allowed(user, "labels?include=notes", NOTES, LABELS)) is not None:
            linking = {
                self.ids[label]: self.ids_of([note for note in seen if label in note.values["labels"]], "notes")
                for label in self.model.seen(user, "labels")
            }
            assert {each["id"]: [far["id"] for far in each["notes"]] for each in page["items"]} == linking
        file = self.ask("GET", "notes/export?format=csv&fields=title", user)
        assert code_of(file) == (None if self.model.may(user, *NOTES) else "FORBIDDEN")
        if file.status_code == 200:
            titles = [line["title"] for line in csv.DictReader(io.StringIO(file.text.removeprefix("\ufeff")))]
            assert titles == sorted(note.values["title"] for note in seen)

    def compare_sums(self, user: str) -> None:
        groups = self.allowed(user, "notes/summary?group=readerId&measures=count,sum:points", NOTES)
        if groups is None:
            return
        points: dict[str | None, list[int]] = {}
        for note in self.model.seen(user, "notes"):
            points.setdefault(self.id_of(note.values["reader"]), []).append(note.values["points"])
        found = {each["key"]["readerId"]: (each["count"], each["sum"]["points"]) for each in groups["groups"]}
        assert found == {reader: (len(each), sum(each)) for reader, each in points.items()}, user

    def compare_filters(self, user: str) -> None:
        """Filters through links."""
        for label in self.labels:
            notes = [note for note in self.model.seen(user, "notes") if label in self.model.labels(user, note)]
            by_id, by_name = f"labelIds={self.ids[label]}", f"labels.name={label.values['name']}"
            for asked, needed in ((by_id, [NOTES]), (by_name, [NOTES, LABELS])):
                if (page := self.allowed(user, f"notes?{asked}", *needed)) is not None:
                    assert [each["id"] for each in page["items"]] == self.ids_of(notes, "notes"), (user, asked)

    def allowed(self, user: str, path: str, *needed: tuple[str, str]) -> Json | None:
        """The data, or None if the user lacks a permission, which the answer has to say."""
        answer = self.ask("GET", path, user)
        DONE["compared"] += 1
        if all(self.model.may(user, action, plural) for action, plural in needed):
            data: Json = data_of(answer)
            return data
        assert code_of(answer) == "FORBIDDEN", (user, path, answer.text)
        return None

    def shown(self, user: str, note: Row) -> Json:
        values = note.values
        return {
            "title": values["title"],
            "points": values["points"],
            "readerId": self.id_of(values["reader"]),
            "groupId": self.id_of(values["group"]),
            "labelIds": sorted(self.ids[label] for label in self.model.labels(user, note)),
        }

    def sent(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """The drawn values of a note, with labels that exist."""
        known = self.labels
        chosen = {known[at % len(known)] for at in drawn.get("labels", ())} if known else set()
        return drawn | ({"labels": chosen} if "labels" in drawn else {})

    def body(self, sent: dict[str, Any]) -> Json:
        made: Json = {"readerId": self.id_of(sent.get("reader")), "groupId": self.id_of(sent.get("group"))}
        made |= {"labelIds": [self.ids[label] for label in sent.get("labels", ())], "points": sent.get("points")}
        names = {"readerId": "reader", "groupId": "group", "labelIds": "labels", "points": "points"}
        return {wire: made[wire] for wire, name in names.items() if name in sent}

    def id_of(self, name: str | None) -> str | None:
        return None if name is None else self.ids[name]

    def ids_of(self, rows: list[Row], plural: str) -> list[str]:
        """In the order of lists."""
        key = "title" if plural == "notes" else "name"
        return [self.ids[row] for row in sorted(rows, key=lambda row: (row.values[key], self.ids[row]))]

    @property
    def notes(self) -> list[Row]:
        return [row for row in self.model.rows if row.plural == "notes"]

    @property
    def labels(self) -> list[Row]:
        return [row for row in self.model.rows if row.plural == "labels"]

    def compare(self, expected: Code, answer: httpx.Response, made: Row | None = None) -> None:
        DONE[expected or "written"] += 1
        assert code_of(answer) == expected, (answer.status_code, answer.text)
        if made is not None and expected is None:
            self.ids[made] = data_of(answer)["id"]

    def ask(self, method: str, path: str, user: str | None, body: object = None) -> httpx.Response:
        """As a user, or as the super-admin in the tenant."""
        whom = f"root in {self.name}" if user is None else f"{user} {self.name}"
        return self.shop.run(self.shop.app.call(method, f"/api/{path}", as_whom=whom, json=body))


def data_of(answer: httpx.Response) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["data"]


def fields_of(note: Json) -> Json:
    names = ("title", "points", "readerId", "groupId")
    return {name: note[name] for name in names} | {"labelIds": sorted(note["labelIds"])}
