"""Token versions: never lower than the committed ones when they are certain, whatever happens in between."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from application.ports.shared_memory import Admission, Admissions
from domain.errors import Conflict, SerializationConflict, ServiceUnavailable
from tests.examples import examples
from tests.servers.shared_memories import Shared, bump_in_vain, naming

names = (f"case-{number}" for number in count())


def subject() -> str:
    return f"user:{next(names)}"


async def asked(admissions: Admissions, *subjects: str) -> Admission:
    return await admissions.admit((), naming(*subjects))


async def known(shared: Shared, name: str, number: int) -> None:
    """Makes the subject's version known, as a read from the database does."""
    ticket = (await asked(shared.first, name)).ticket
    assert ticket is not None
    await shared.first.remember({name: number}, ticket)


async def test_what_was_never_read_is_not_known(shared: Shared) -> None:
    admission = await asked(shared.first, subject())
    assert admission.token_versions is None
    assert admission.ticket is not None


async def test_a_remembered_version_is_known_to_all_processes(shared: Shared) -> None:
    name = subject()
    await known(shared, name, 4)
    assert await asked(shared.second, name) == Admission((), {name: 4}, None)


async def test_no_subjects_are_all_known(shared: Shared) -> None:
    assert (await asked(shared.first)).token_versions == {}


async def test_one_unknown_subject_makes_the_answer_uncertain(shared: Shared) -> None:
    name = subject()
    await known(shared, name, 4)
    assert (await asked(shared.first, name, subject())).token_versions is None


async def test_a_change_is_uncertain_while_it_runs_and_certain_after_it(shared: Shared) -> None:
    name = subject()
    await known(shared, name, 4)
    async with shared.first.publishing([name]) as versions:
        assert await asked(shared.second, name) == Admission((), None, None)
        versions[name] = 5
    assert (await asked(shared.second, name)).token_versions == {name: 5}


async def test_a_change_of_a_subject_never_read_is_certain_after_it(shared: Shared) -> None:
    name = subject()
    async with shared.first.publishing([name]) as versions:
        versions[name] = 1
    assert (await asked(shared.second, name)).token_versions == {name: 1}


@pytest.mark.parametrize("error", [Conflict, SerializationConflict])
async def test_a_change_that_was_refused_leaves_what_was_known(shared: Shared, error: type[Exception]) -> None:
    name = subject()
    await known(shared, name, 4)
    with pytest.raises(error):
        async with shared.first.publishing([name]) as versions:
            bump_in_vain(versions, name, error)
    assert (await asked(shared.second, name)).token_versions == {name: 4}


async def test_a_change_that_publishes_no_versions_preserves_known_versions(shared: Shared) -> None:
    name, other = subject(), subject()
    await known(shared, name, 4)
    async with shared.first.publishing([name, other]):
        pass
    assert (await asked(shared.second, name)).token_versions == {name: 4}
    assert (await asked(shared.second, other)).ticket is not None


@pytest.mark.parametrize("error", [ServiceUnavailable, RuntimeError, asyncio.CancelledError])
async def test_a_version_is_uncertain_after_an_unknown_end(shared: Shared, error: type[BaseException]) -> None:
    name = subject()
    await known(shared, name, 4)
    with pytest.raises(error):
        async with shared.first.publishing([name]):
            raise error
    assert await asked(shared.second, name) == Admission((), None, None)


async def test_overlapping_changes_are_published_by_the_last_of_them_with_the_highest_version(shared: Shared) -> None:
    name = subject()
    async with shared.first.publishing([name]) as slow:
        async with shared.second.publishing([name]) as quick:
            quick[name] = 6
        assert (await asked(shared.first, name)).token_versions is None
        slow[name] = 5
    assert (await asked(shared.first, name)).token_versions == {name: 6}


async def test_an_older_answer_is_not_remembered_over_a_change(shared: Shared) -> None:
    name = subject()
    ticket = (await asked(shared.first, name)).ticket
    assert ticket is not None
    async with shared.second.publishing([name]) as versions:
        await shared.first.remember({name: 0}, ticket)
        versions[name] = 1
    await shared.first.remember({name: 0}, ticket)
    assert (await asked(shared.first, name)).token_versions == {name: 1}


@pytest.mark.promise("identity, revocation: an older copy of Redis")
async def test_an_answer_from_before_a_memory_loss_is_not_remembered(shared: Shared) -> None:
    name = subject()
    ticket = (await asked(shared.first, name)).ticket
    assert ticket is not None
    await shared.lose()
    await shared.first.remember({name: 0}, ticket)
    assert (await asked(shared.first, name)).token_versions is None


async def test_a_change_with_a_lost_mark_invalidates_concurrent_reads(shared: Shared) -> None:
    name = subject()
    async with shared.first.publishing([name]) as versions:
        await shared.lose()
        ticket = (await asked(shared.second, name)).ticket
        assert ticket is not None
        versions[name] = 1
    await shared.second.remember({name: 0}, ticket)
    assert (await asked(shared.second, name)).token_versions is None


async def test_a_change_from_before_a_memory_loss_does_not_make_its_version_known(shared: Shared) -> None:
    """Another change bumped the version since, and its mark is lost with the memory."""
    name = subject()
    before = shared.first.publishing([name])
    versions = await before.__aenter__()
    async with shared.second.publishing([name]) as higher:
        higher[name] = 2
    await shared.lose()
    refused = shared.second.publishing([name])
    await refused.__aenter__()
    versions[name] = 1
    await before.__aexit__(None, None, None)
    assert not await refused.__aexit__(Conflict, Conflict(), None)
    assert (await asked(shared.first, name)).token_versions is None


async def test_a_change_from_before_a_memory_loss_is_a_lower_bound_for_later_ones(
    shared: Shared,
) -> None:
    name = subject()
    before = shared.first.publishing([name])
    versions = await before.__aenter__()
    await shared.lose()
    async with shared.second.publishing([name]) as later:
        later[name], versions[name] = 1, 2
        await before.__aexit__(None, None, None)
    assert (await asked(shared.first, name)).token_versions == {name: 2}


# Every order of events, against a model: the database as it stands, and what each change has come to.


@dataclass
class Raise:
    context: AbstractAsyncContextManager[dict[str, int]]
    versions: dict[str, int]
    committed: int | None = None
    is_marked: bool = True


class Model:
    """Two processes that change a subject and one that reads it; ``enabled`` says which steps are possible.

    ``floor`` is the lowest version that a certain answer may give: commits whose mark is stored, and all ended changes.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.doors = (shared.first, shared.second)
        self.name = subject()
        self.truth = self.floor = 0
        self.running: dict[int, Raise] = {}
        self.dead: list[Raise] = []
        self.ticket: str | None = None
        self.read_version: int | None = None

    def enabled(self) -> list[Callable[[], Awaitable[None]]]:
        steps = [self.lose]
        for actor in (0, 1):
            change = self.running.get(actor)
            if change is None:
                names = ["begin"]
            elif change.committed is None:
                names = ["commit", "commit", "leave", "refuse", "fail", "die"]
            else:
                names = ["leave", "leave", "fail", "die"]
            steps += [partial(getattr(self, name), actor) for name in names]
        if self.ticket is None:
            return [*steps, self.read, self.read]
        return [*steps, self.query, self.query] if self.read_version is None else [*steps, self.remember, self.remember]

    def plain_steps(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """Steps of one process whose changes all end, by name."""
        change = self.running.get(0)
        own = ["begin"] if change is None else ["leave"] if change.committed else ["commit", "leave"]
        reader = "read" if self.ticket is None else "query" if self.read_version is None else "remember"
        changes = {name: partial(getattr(self, name), 0) for name in own}
        return {"lose": self.lose, reader: getattr(self, reader), **changes}

    async def begin(self, actor: int) -> None:
        context = self.doors[actor].publishing([self.name])
        self.running[actor] = Raise(context, await context.__aenter__())

    async def commit(self, actor: int) -> None:
        change = self.running[actor]
        self.truth += 1
        change.committed = self.truth
        if change.is_marked:
            self.floor = self.truth

    async def leave(self, actor: int) -> None:
        change = self.running.pop(actor)
        if change.committed is not None:
            change.versions[self.name] = change.committed
        await change.context.__aexit__(None, None, None)
        self.floor = max(self.floor, change.committed or 0)

    async def refuse(self, actor: int) -> None:
        assert not await self.running.pop(actor).context.__aexit__(Conflict, Conflict(), None)

    async def fail(self, actor: int) -> None:
        """The database goes away: inside, it is unknown whether the change was committed."""
        change = self.running.pop(actor)
        assert not await change.context.__aexit__(ServiceUnavailable, ServiceUnavailable(), None)
        self.dead.append(change)

    async def die(self, actor: int) -> None:
        self.dead.append(self.running.pop(actor))

    async def lose(self) -> None:
        await self.shared.lose()
        self.see_loss()

    def see_loss(self) -> None:
        for change in (*self.running.values(), *self.dead):
            change.is_marked = False

    async def read(self) -> None:
        self.ticket = (await asked(self.shared.first, self.name)).ticket

    async def query(self) -> None:
        self.read_version = self.truth

    async def remember(self) -> None:
        assert self.ticket is not None
        assert self.read_version is not None
        await self.shared.first.remember({self.name: self.read_version}, self.ticket)
        self.ticket = self.read_version = None

    async def check(self) -> None:
        admission = await asked(self.shared.second, self.name)
        if admission.token_versions is not None:
            assert self.floor <= admission.token_versions[self.name] <= self.truth

    async def end(self) -> None:
        """Once all changes are over without a mark left, one read of the database makes every version certain."""
        for actor in list(self.running):
            await self.leave(actor)
        self.ticket = self.read_version = None
        await self.read()
        if self.ticket is not None:
            await self.query()
            await self.remember()
        await self.check()
        admission = await asked(self.shared.first, self.name)
        assert admission.token_versions is not None or any(change.is_marked for change in self.dead)


@pytest.mark.promise("identity, revocation: in any order of events")
@pytest.mark.parametrize("shared", ["memory", "redis"], indirect=True)  # a cluster runs the same scripts
@given(steps=st.lists(st.integers(0, 59), min_size=5, max_size=25))
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_certain_version_is_never_wrong_whatever_the_order(shared: Shared, steps: list[int]) -> None:
    model = Model(shared)
    for step in steps:
        enabled = model.enabled()
        await enabled[step % len(enabled)]()
        await model.check()
    await model.end()


@pytest.mark.parametrize("shared", ["memory", "redis"], indirect=True)  # a cluster runs the same scripts
@pytest.mark.drawn
async def test_a_certain_version_is_never_wrong_on_long_walks(shared: Shared) -> None:
    """Longer sequences than above, for faults that need several changes and a loss."""
    for seed in range(examples(500)):
        chance, model = random.Random(seed), Model(shared)
        for _ in range(chance.randint(5, 25)):
            enabled = model.enabled()
            await enabled[chance.randrange(60) % len(enabled)]()
            await model.check()
        await model.end()


@pytest.mark.parametrize("shared", ["memory", "redis"], indirect=True)  # a cluster runs the same scripts
async def test_a_certain_version_is_never_wrong_in_any_order_of_seven_steps(shared: Shared) -> None:
    """Sequential changes, one reader, and a memory that is lost once."""
    walks: list[tuple[str, ...]] = [()]
    for _ in range(8):
        models = {steps: Model(shared) for steps in walks}
        # they share what one of them loses: those that lose at the same step walk together, in fewer round trips
        for lost in range(-1, 7):
            together = {steps: model for steps, model in models.items() if lost == place_of_loss(steps)}
            await walk(shared, together, lost)
        walks = [
            (*steps, name)
            for steps, model in models.items()
            for name in model.plain_steps()
            if name != "lose" or name not in steps
        ]


def place_of_loss(steps: tuple[str, ...]) -> int:
    return steps.index("lose") if "lose" in steps else -1


async def walk(shared: Shared, models: dict[tuple[str, ...], Model], lost: int) -> None:
    """Takes the steps of each model, one after the other; all models lose the memory at the same step, or never."""
    for place in range(max(map(len, models), default=0)):
        if place == lost:
            await shared.lose()
            for model in models.values():
                model.see_loss()
        else:
            await asyncio.gather(*(model.plain_steps()[steps[place]]() for steps, model in models.items()))
    await asyncio.gather(*(model.check() for model in models.values()))
