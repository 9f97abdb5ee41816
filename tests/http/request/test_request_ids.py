"""Ids of requests that bring none: random, and of their own in every process."""

import multiprocessing
import re
from multiprocessing.connection import Connection
from typing import Any, cast

from adapters.http.request.client_address import IDS_AT_ONCE, read_client


def new_id() -> str:
    return read_client(cast(Any, {"client": ("127.0.0.1", 5000), "headers": []}), {}, ()).request_id


def test_ids_are_random_and_never_come_twice() -> None:
    made = [new_id() for _ in range(3 * IDS_AT_ONCE)]
    assert all(re.fullmatch("[0-9a-f]{32}", request_id) for request_id in made)
    assert len(set(made)) == len(made)


def test_a_forked_process_makes_ids_of_its_own() -> None:
    new_id()  # some are left over, and the child inherits the memory that holds them
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    child = fork.Process(target=_tell, args=(there,))
    child.start()
    theirs = here.recv()
    child.join()
    assert not set(theirs) & {new_id() for _ in range(2 * IDS_AT_ONCE)}


def _tell(there: Connection) -> None:
    there.send([new_id() for _ in range(IDS_AT_ONCE)])
