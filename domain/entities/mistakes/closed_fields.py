"""Fields that a rule may not read."""

from msgspec import Struct


def closed_field(plural: str, name: str) -> property:
    """Return a property that raises LookupError when ``check`` reads it."""

    def look(_: Struct) -> object:
        raise LookupError(f"check of {plural} looks at {name!r}, which its check_reads does not name")

    return property(look)
