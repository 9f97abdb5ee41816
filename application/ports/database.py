"""All rooms of the database together: what its adapters offer, and what only the entrypoints need whole."""

from typing import Protocol

from application.ports.files import Transferring
from application.ports.history import Remembering
from application.ports.imports import Imports
from application.ports.keys import Keys
from application.ports.leftovers import Cleaning
from application.ports.post import Posting
from application.ports.records import Rows
from application.ports.sent_passwords import Spending
from application.ports.sessions import SignedIn
from application.ports.tenants import Tenancy
from application.ports.world import Database


class Transaction(
    SignedIn, Posting, Tenancy, Keys, Spending, Imports, Rows, Remembering, Transferring, Cleaning, Protocol
):
    """Everything the database keeps, by room."""


class WholeDatabase(Database[Transaction], Protocol):
    async def is_ready(self) -> bool:
        """Whether it answers and its migrations are current."""
        ...
