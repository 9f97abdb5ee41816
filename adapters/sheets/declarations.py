"""Import of the declared entity in a child process."""

import importlib
from pathlib import Path
from typing import Any

from adapters.sheets.frames import Entity
from application.entities.declaration_files import file_of, import_file
from domain.entities.declaration import EntityModel
from domain.entities.registry import read_entity


def entity_of(model: EntityModel) -> Entity:
    """Return module, name and file for another process to find the declaration of ``model``."""
    struct = model.struct
    file = file_of(struct.__module__)
    return Entity(struct.__module__, struct.__qualname__, None if file is None else str(file))


def model_of(entity: Entity) -> EntityModel:
    found: Any = importlib.import_module(entity.module) if entity.file is None else import_file(Path(entity.file))
    for name in entity.name.split("."):
        found = getattr(found, name)
    return read_entity(found)
