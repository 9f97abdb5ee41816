"""Use cases of declared entities that handlers call."""

from dataclasses import dataclass

from application.entities.attachments.availability import FileAvailability
from application.entities.attachments.contents import FileContents
from application.entities.attachments.uploads import FileUploads
from application.entities.batches import Batches
from application.entities.changes.following import Following
from application.entities.changes.streams.streams import Streams
from application.entities.cross_tenant_access import CrossTenantAccess
from application.entities.crud import Crud
from application.entities.descriptions import Descriptions
from application.entities.histories import Histories
from application.entities.reading.summaries import Summarizing
from application.entities.sharing import Sharing
from application.entities.transactions.operations import Operations
from application.entities.transactions.upserts import Upserts
from application.entities.transfers.exports import CallersExport
from application.entities.transfers.imports import FileImport


@dataclass(frozen=True, kw_only=True)
class EntityUseCases:
    descriptions: Descriptions
    crud: Crud
    batches: Batches
    operations: Operations
    upserts: Upserts
    histories: Histories
    following: Following
    streams: Streams
    sharing: Sharing
    file_uploads: FileUploads
    file_contents: FileContents
    file_availability: FileAvailability
    summarizing: Summarizing
    exporting: CallersExport
    importing: FileImport
    cross_tenant_access: CrossTenantAccess
