"""Further entities, for a service of many."""

from pathlib import Path

_HEAD = """from typing import Annotated

from msgspec import Meta, Struct

from domain.entities.markers import entity, unique

"""

_ONE = """
@entity("bench-things-{number}", search=["name"], unique=[unique("code")])
class BenchThing{number}(Struct, rename="camel", kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    code: Annotated[str, Meta(pattern="^[A-Z0-9-]{{3,32}}$")]
    amount: Annotated[int, Meta(ge=0)] = 0

"""


def write_entities(count: int, folder: Path) -> Path:
    module = folder / "bench_entities.py"
    names = ", ".join(f"BenchThing{number}" for number in range(count))
    declared = "".join(_ONE.format(number=number) for number in range(count))
    module.write_text(f"{_HEAD}{declared}\nENTITIES = ({names},)\n")
    return module
