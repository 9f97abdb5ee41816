"""The statements that nearly every service needs, compiled when it starts.

A statement takes some milliseconds to be built and compiled, and nothing else runs meanwhile.
"""

from adapters.postgres.entities.reading.select import compile_usual_reads
from domain.entities.declaration import Registry


def compile_usual_statements(registry: Registry) -> None:
    for model in registry:
        compile_usual_reads(registry, model)
