"""All rooms of the database together: what its adapters offer, and what only the entrypoints need whole."""

from typing import Protocol

from application.ports.database import Database
from application.ports.entities.files import TransferTransaction
from application.ports.entities.history import HistoryTransaction
from application.ports.entities.records import RecordTransaction
from application.ports.identity.accounts import AccountTransaction
from application.ports.identity.encrypted_passwords import NonceTransaction
from application.ports.identity.imported_hashes import ImportedHashTransaction
from application.ports.identity.sessions import SessionTransaction
from application.ports.identity.signing_keys import KeyTransaction
from application.ports.identity.tenants import TenantTransaction
from application.ports.retention import RetentionTransaction


class Transaction(
    AccountTransaction,
    SessionTransaction,
    TenantTransaction,
    KeyTransaction,
    NonceTransaction,
    ImportedHashTransaction,
    RecordTransaction,
    HistoryTransaction,
    TransferTransaction,
    RetentionTransaction,
    Protocol,
):
    """Everything the database keeps, by room."""


class WholeDatabase(Database[Transaction], Protocol):
    async def is_ready(self) -> bool:
        """Whether it answers and its migrations are current."""
        ...
