"""The complete database interface, for its adapters and the entrypoints."""

from typing import Protocol

from application.ports.database import Database
from application.ports.entities.attached_files import FileTransaction, UnusedFileTransaction
from application.ports.entities.changes import ChangesTransaction, SequencingTransaction
from application.ports.entities.files import TransferTransaction
from application.ports.entities.history import HistoryTransaction
from application.ports.entities.records import RecordTransaction
from application.ports.entities.shares import ShareTransaction
from application.ports.entities.summaries import SummaryTransaction
from application.ports.entities.webhooks import WebhookTransaction
from application.ports.identity.accounts import AccountTransaction
from application.ports.identity.applications import ApplicationTransaction
from application.ports.identity.domains import DomainTransaction
from application.ports.identity.factors import FactorTransaction
from application.ports.identity.member_references import DepartureTransaction
from application.ports.identity.passwords import ImportedHashTransaction
from application.ports.identity.personal_data import PersonalTransaction
from application.ports.identity.service_accounts import ServiceAccountTransaction
from application.ports.identity.signing_keys import KeyTransaction
from application.ports.identity.tenants import TenantTransaction
from application.ports.mail_delivery import WatchedTransaction
from application.ports.retention import RetentionTransaction


class Transaction(
    AccountTransaction,
    ApplicationTransaction,
    FactorTransaction,
    WebhookTransaction,
    ServiceAccountTransaction,
    TenantTransaction,
    DomainTransaction,
    DepartureTransaction,
    PersonalTransaction,
    KeyTransaction,
    ImportedHashTransaction,
    RecordTransaction,
    HistoryTransaction,
    ChangesTransaction,
    SequencingTransaction,
    ShareTransaction,
    SummaryTransaction,
    TransferTransaction,
    FileTransaction,
    UnusedFileTransaction,
    RetentionTransaction,
    WatchedTransaction,
    Protocol,
):
    """Transaction with access to the complete database."""


class WholeDatabase(Database[Transaction], Protocol):
    """The database for entrypoints."""

    async def is_ready(self) -> bool:
        """Return whether the database answers and its migrations are current."""
        ...
