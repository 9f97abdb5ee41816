"""The statements that nearly every service needs, compiled when it starts.

A statement takes some milliseconds to be built and compiled, and no request is answered meanwhile.
"""

from itertools import islice

from adapters.postgres.entities.reading.select import compile_usual_reads
from adapters.postgres.entities.writing.bulk_statements import insert_rows, update_rows
from adapters.postgres.entities.writing.single_row_statements import insert_row, is_plain, update_row
from domain.entities.declaration import EntityModel, Registry

MOST_ENTITIES = 24
"""Entities whose statements a start compiles, 25 ms each: with 200 of them it would take five seconds longer."""


def compile_usual_statements(registry: Registry) -> None:
    """Those of the entities that are declared first; the others' are compiled when they are first asked for."""
    for model in islice(registry, MOST_ENTITIES):
        compile_usual_reads(registry, model)
        if model.declaration.writable:
            _compile_usual_writes(registry, model)


def _compile_usual_writes(registry: Registry, model: EntityModel) -> None:
    """Inserting and updating a whole row, with and without the references that may be null."""
    references = [field for field in model.declared if field.reference is not None]
    # an entity with a history, or with rules on other rows, is written by the statements for many rows alone
    if not is_plain(model):
        insert_rows(registry, model)
        update_rows(registry, model, model.names, is_partial=False)
        return
    for referring in (references, [field for field in references if not field.nullable]):
        held = tuple(field.name for field in referring)
        insert_row(registry, model, held)
        update_row(registry, model, model.names, held)
