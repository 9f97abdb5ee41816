"""Digests of addresses: of one key, one tenant and one mailbox."""

import hashlib

import pytest

from adapters.joserfc.address_digests import KeyedAddressDigests
from application.identity.joining.departures import Departures
from domain.identity.users import AccountState, mailbox_key
from tests.builders import new_id, user

ADA, FIRST, SECOND = "ada@acme.example", "first " * 8, "second " * 8


@pytest.mark.promise(
    "tenants, domains and requests to join: what is kept for that is no address, and goes when somebody lets the "
    "person in"
)
def test_a_digest_is_of_one_tenant_one_mailbox_and_one_key() -> None:
    here, there = new_id(), new_id()
    digests = KeyedAddressDigests(FIRST)
    found = [*digests.of(here, ADA), *digests.of(there, ADA), *digests.of(here, "bob@acme.example")]
    assert len({*found, *KeyedAddressDigests(SECOND).of(here, ADA)}) == 4
    assert {len(digest) for digest in found} == {32}
    assert digests.of(here, ADA) == KeyedAddressDigests(FIRST).of(here, ADA)
    # Whoever reads the database and guesses the address finds nothing without the key.
    assert hashlib.sha256(here.bytes + ADA.encode()).digest() not in found


def test_what_the_other_secret_made_is_recognised() -> None:
    here = new_id()
    (before,) = KeyedAddressDigests(FIRST).of(here, ADA)
    stored, other = KeyedAddressDigests(SECOND, FIRST).of(here, ADA)
    assert (stored, other) == (KeyedAddressDigests(SECOND).of(here, ADA)[0], before)


@pytest.mark.promise(
    "tenants, domains and requests to join: a new account of the same mailbox does not come back by the domain, "
    "whoever ended the old one"
)
def test_what_follows_a_plus_sign_is_no_other_mailbox() -> None:
    for key in (ADA, "ada+news@acme.example", "ada+a+b@acme.example", "ada+@acme.example"):
        assert mailbox_key(key) == ADA
    assert mailbox_key("+ada@acme.example") == "+ada@acme.example"
    assert mailbox_key('"a@b+c"@acme.example') == '"a@b@acme.example'


def test_marks_are_of_every_tenant_that_is_left_and_found_by_the_digests() -> None:
    departures, tenants = Departures(KeyedAddressDigests(SECOND, FIRST)), [new_id(), new_id()]
    ada = user(email_key=ADA)
    marks = departures.marks(ada, [*tenants, *tenants], new_id())
    assert [mark.tenant_id for mark in marks] == sorted(tenants)
    assert all(mark.digest == departures.digests("ada+new@acme.example", mark.tenant_id)[0] for mark in marks)
    state = AccountState(user=ada, memberships=(), roles=(), token_versions={})
    assert departures.marks_of_account(state, tenants, new_id()) == marks


def test_an_address_that_nobody_proved_is_marked_by_others_alone() -> None:
    departures, home = Departures(KeyedAddressDigests(FIRST)), new_id()
    unproved, proved = user(email_proved=False), user(email_proved=True)
    assert departures.marks(unproved, [home], unproved.id) == []
    assert len(departures.marks(unproved, [home], new_id())) == 1
    assert len(departures.marks(proved, [home], proved.id)) == 1
