"""The entities that the service begins with, as ``tenantry entities`` prints them."""

from documentation.markdown import block, sections
from entrypoints.assembly.entities import load_registry
from entrypoints.cli.reports.entity_report import describe

INTRODUCTION = """\
What `tenantry entities` prints for the example catalogue and the entities of the service itself: paths, fields with
their types, relations, permissions, and how many requests a caller may make in a minute. With entities of your own it
prints those. [Entities](../entities.md) explains each type and marker."""


def page() -> str:
    report = str(describe(load_registry(("tenantry.catalogue",))))
    return sections("# Entities of the service", INTRODUCTION, block(report, "text"))
