"""All rooms of the database together: what its adapters offer, and what only the entrypoints need whole."""

from typing import Protocol

from application.ports.database import Database
from application.ports.entities.files import Transferring
from application.ports.entities.history import Remembering
from application.ports.entities.records import Rows
from application.ports.identity.encrypted_passwords import Spending
from application.ports.identity.imported_hashes import Imports
from application.ports.identity.sessions import SignedIn
from application.ports.identity.signing_keys import Keys
from application.ports.identity.tenants import Tenancy
from application.ports.mail_delivery import Posting
from application.ports.retention import Cleaning


class Transaction(
    SignedIn, Posting, Tenancy, Keys, Spending, Imports, Rows, Remembering, Transferring, Cleaning, Protocol
):
    """Everything the database keeps, by room."""


class WholeDatabase(Database[Transaction], Protocol):
    async def is_ready(self) -> bool:
        """Whether it answers and its migrations are current."""
        ...
