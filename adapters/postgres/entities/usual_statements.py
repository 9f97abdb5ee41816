"""Statements that nearly every service needs, compiled at startup.

Compiling a statement blocks the event loop for some milliseconds.
"""

from itertools import islice

from adapters.postgres.entities.reading.select import compile_usual_reads
from adapters.postgres.entities.writing.bulk_statements import insert_rows, update_rows
from adapters.postgres.entities.writing.single_row_statements import insert_row, is_plain, update_row
from domain.entities.declaration import EntityModel, Registry
from domain.entities.owning import NO_LIMITS

MOST_ENTITIES = 24
"""Maximum number of entities with statements compiled at startup, 25 ms each: 200 of them would add five seconds."""


def compile_usual_statements(registry: Registry) -> None:
    """Compile the statements of the first declared entities; others are compiled on first use."""
    for model in islice(registry, MOST_ENTITIES):
        compile_usual_reads(registry, model)
        if model.declaration.writable:
            _compile_usual_writes(registry, model)


def _compile_usual_writes(registry: Registry, model: EntityModel) -> None:
    references = [field for field in model.declared if field.reference is not None]
    # An entity with a history or with rules on other rows uses only the bulk statements.
    if not is_plain(model):
        insert_rows(registry, model, NO_LIMITS)
        update_rows(registry, model, NO_LIMITS, model.names, is_partial=False)
        return
    for referring in (references, [field for field in references if not field.nullable]):
        held = tuple(field.name for field in referring)
        insert_row(registry, model, NO_LIMITS, held)
        update_row(registry, model, NO_LIMITS, tuple(field.name for field in model.columns), held)
