"""Import of the declared entity in a worker process."""

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

from adapters.sheets.frames import Entity
from domain.entities.declaration import EntityModel
from domain.entities.registry import read_entity


def model_of(entity: Entity) -> EntityModel:
    found: Any = _module(entity)
    for name in entity.name.split("."):
        found = getattr(found, name)
    return read_entity(found)


def _module(entity: Entity) -> ModuleType:
    if entity.file is None:
        return importlib.import_module(entity.module)
    spec = importlib.util.spec_from_file_location(entity.module, entity.file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered as an import would be: the types of its annotations are looked up there.
    sys.modules[entity.module] = module
    spec.loader.exec_module(module)
    return module
