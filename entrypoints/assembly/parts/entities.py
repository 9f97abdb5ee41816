"""Use cases of declared entities on adapters."""

from dataclasses import dataclass
from datetime import timedelta

from adapters.http.entities.changes.stream_texts import STREAM_TEXTS
from adapters.http.entities.part import EntityUseCases
from adapters.images.processes import ProcessImages
from application.entities.attachments.availability import FileAvailability
from application.entities.attachments.contents import FileContents
from application.entities.attachments.thumbnails import Thumbnails
from application.entities.attachments.unused_files import UnusedFileRemoval
from application.entities.attachments.uploads import FileUploads
from application.entities.batches import Batches
from application.entities.changes.arrivals import Arrivals
from application.entities.changes.following import Following
from application.entities.changes.streams.streams import StreamLimits, Streams
from application.entities.cross_tenant_access import CrossTenantAccess
from application.entities.crud import Crud
from application.entities.descriptions import Descriptions
from application.entities.histories import Histories
from application.entities.reading.summaries import Summarizing
from application.entities.sharing import Sharing
from application.entities.transactions.operations import Operations
from application.entities.transactions.upserts import Upserts
from application.entities.transfers.exports import CallersExport, FileExport
from application.entities.transfers.imports import FileImport
from application.entities.transfers.transfer_slots import UPLOADS, UPLOADS_AT_ONCE, UPLOADS_OF_A_USER, TransferSlots
from application.entities.writing import RowWriter
from application.ports.database import RowReads
from application.ports.whole_database import Transaction
from application.throttle import Throttle
from domain.parts.composition import AREAS
from entrypoints.assembly.adapters import Adapters
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class EntityServices(EntityUseCases):
    unused_files: UnusedFileRemoval


def assemble_entities(
    adapters: Adapters, settings: Settings, reads: RowReads[Transaction], throttle: Throttle
) -> EntityServices:
    database, registry, clock, sheets = adapters.database, adapters.registry, adapters.clock, adapters.sheets
    arrivals = Arrivals(adapters.wakes)
    following = Following(database, registry, throttle.ensure_alive, arrivals)
    limits = StreamLimits(of_process=settings.changes_streams)
    writing, slots = RowWriter(database, registry, clock), TransferSlots()
    return EntityServices(
        descriptions=Descriptions(registry, AREAS),
        crud=Crud(reads, writing, adapters.ids),
        batches=Batches(writing, adapters.ids),
        operations=Operations(database, registry, clock, adapters.ids),
        upserts=Upserts(database, registry, clock, adapters.ids),
        histories=Histories(reads),
        following=following,
        streams=Streams(following, throttle, clock, STREAM_TEXTS, limits),
        sharing=Sharing(database, clock),
        file_uploads=_uploads(adapters, settings),
        unused_files=UnusedFileRemoval(
            database, adapters.files.store, adapters.upkeep, clock, timedelta(days=settings.files_kept_days)
        ),
        file_contents=FileContents(
            database,
            reads,
            registry,
            adapters.files.store,
            Thumbnails(adapters.files.store, ProcessImages(), adapters.files.spool, adapters.files.figures),
            adapters.tickets,
            clock,
            settings.files_base_url or settings.base_url,
            redirects=settings.files_downloads == "redirect",
        ),
        file_availability=FileAvailability(
            adapters.files.store if any(model.attachments for model in registry) else None, clock
        ),
        summarizing=Summarizing(reads),
        exporting=CallersExport(FileExport(reads, registry, sheets), slots, throttle, clock),
        importing=FileImport(database, registry, clock, sheets, adapters.upkeep, slots),
        cross_tenant_access=CrossTenantAccess(database, clock),
    )


def _uploads(adapters: Adapters, settings: Settings) -> FileUploads:
    files = adapters.files
    return FileUploads(
        adapters.database,
        adapters.registry,
        files.store,
        files.contents,
        adapters.clock,
        adapters.ids,
        TransferSlots(UPLOADS_AT_ONCE, UPLOADS_OF_A_USER, UPLOADS),
        spool=files.spool,
        quota=settings.files_tenant_bytes or None,
        scan=files.scan,
        figures=files.figures,
    )
