"""Tickets: only what was sealed here as the same kind opens, until its end, and each has an id of its own."""

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from adapters.joserfc import SealedTickets
from application.ports.identity.sessions import Ticket
from tests.builders import NOW

SECRET = "a secret key of more than 32 characters"
TICKETS = SealedTickets(SECRET)
UNTIL = NOW + timedelta(minutes=5)


class Waiting(Struct, frozen=True):
    user_id: UUID
    methods: tuple[str, ...]


class Other(Struct, frozen=True):
    challenge: str


CONTENT = Waiting(UUID(int=7), ("pwd",))
SEALED = TICKETS.seal("mfa", CONTENT, UNTIL)


def test_what_was_sealed_opens_in_every_process_until_its_end() -> None:
    opened = SealedTickets(SECRET).open("mfa", SEALED, Waiting, UNTIL - timedelta.resolution)
    assert opened is not None
    assert opened == Ticket(opened.id, CONTENT, UNTIL)
    assert TICKETS.open("mfa", SEALED, Waiting, UNTIL) is None


def test_each_ticket_has_an_id_of_its_own() -> None:
    opened = [TICKETS.open("mfa", TICKETS.seal("mfa", CONTENT, UNTIL), Waiting, NOW) for _ in range(100)]
    assert len({ticket.id for ticket in opened if ticket}) == 100


@pytest.mark.promise(
    "second factors, attacks: a ticket after a logout, twice, from another network, changed, of another kind"
)
def test_no_other_kind_no_other_content_and_no_other_secret_opens_it() -> None:
    assert TICKETS.open("passkey", SEALED, Waiting, NOW) is None
    assert TICKETS.open("sso", SEALED, Waiting, NOW) is None
    assert TICKETS.open("mfa", SEALED, Other, NOW) is None
    assert SealedTickets(SECRET + "!").open("mfa", SEALED, Waiting, NOW) is None


def test_its_text_tells_nothing() -> None:
    assert str(CONTENT.user_id) not in SEALED
    assert len(SEALED) < 500


@pytest.mark.parametrize("at", range(0, len(SEALED), 7))
def test_no_character_can_be_changed(at: int) -> None:
    opened = TICKETS.open("mfa", SEALED, Waiting, NOW)
    for other in "Aq-_.":
        changed = SEALED[:at] + other + SEALED[at + 1 :]
        # Unused bits of the last character may differ: then it is the same ticket, with the same id.
        assert TICKETS.open("mfa", changed, Waiting, NOW) in (None, opened)
        assert changed == SEALED or at == len(SEALED) - 1 or TICKETS.open("mfa", changed, Waiting, NOW) is None


@given(st.text(max_size=100))
def test_arbitrary_text_is_refused_and_never_breaks(text: str) -> None:
    assert TICKETS.open("mfa", text, Waiting, NOW) is None


@pytest.mark.parametrize("text", ["", "....", "e30....", "a" * 100_000, SEALED + ".", "ä" * 75])
def test_nothing_else_opens(text: str) -> None:
    assert TICKETS.open("mfa", text, Waiting, NOW) is None
