"""Python modules named in the setting ENTITIES: their entities, routes and migration folders."""

import importlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from adapters.images.processes import images_are_installed
from application.entities.declaration_files import import_file
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.declaration import Registry
from domain.entities.mistakes.attachments import not_installed, over_limit
from domain.entities.registry import DeclarationError, build_registry

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler  # most commands do not need it

OWN_PACKAGE = "tenantry"
_CODE = Path(__file__).resolve().parent.parent
LIBRARIES = (
    *(f"{_CODE / layer}/" for layer in ("domain", "application", "adapters", "entrypoints", "tenantry")),
    *{f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib")},
    "<frozen ",
)


class EntitiesError(Exception):
    """Error for invalid declarations; the message lists every error, one per line."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        lines = "\n".join(f"  - {mistake}" for mistake in mistakes)
        super().__init__(f"The entities or routes cannot be served:\n{lines}")


def load_registry(names: Sequence[str], largest_file: int | None = None) -> Registry:
    """Return the registry of the service's entities and those of the modules.

    Raises EntitiesError. With ``largest_file``, for a service, also for fields that accept files of more bytes, and for
    thumbnails without the package that creates them.
    """
    declared: list[type[Struct]] = list(BUILTIN_ENTITIES)
    mistakes: list[str] = []
    for name in dict.fromkeys(names):
        try:
            declared += _declared_in(_module(name), name)
            _routes_in(_module(name), name)
        except EntitiesError as error:
            mistakes += error.mistakes
    if mistakes:
        raise EntitiesError(mistakes)
    registry = registry_of(declared)
    if largest_file is not None:
        without_images = () if images_are_installed() else not_installed(registry)
        mistakes += [*over_limit(registry, largest_file), *without_images]
    if mistakes:
        raise EntitiesError(mistakes)
    return registry


def registry_of(declared: Sequence[type[Struct]]) -> Registry:
    """Build the registry. Raises EntitiesError."""
    try:
        return _built(tuple(declared))
    except DeclarationError as error:
        raise EntitiesError(error.mistakes) from None


# The cache returns the same registry for the same structs, so a worker finds the statements compiled before the fork.
_built = lru_cache(maxsize=8)(build_registry)


def load_routes(names: Sequence[str]) -> "tuple[ControllerRouterHandler, ...]":
    """Return the handlers, controllers and routers in the modules' ROUTES. Raises EntitiesError."""
    return tuple(route for name in dict.fromkeys(names) for route in _routes_in(_module(name), name))


def _routes_in(module: ModuleType, name: str) -> "Iterator[ControllerRouterHandler]":
    if hasattr(module, "ENDPOINTS"):
        raise EntitiesError([f"{name}: ENDPOINTS is not read any more: list Litestar handlers in ROUTES."])
    given = getattr(module, "ROUTES", ())
    if not isinstance(given, tuple | list):
        raise EntitiesError([f"{name}: ROUTES is no tuple of Litestar handlers, controllers and routers."])
    return iter(ensure_routes(given, name))


def ensure_routes(given: Sequence[Any], name: str) -> "Sequence[ControllerRouterHandler]":
    """Return ``given``. Raises EntitiesError with ``name`` for an element the service cannot serve."""
    if given:
        from litestar import Controller, Router  # only files with routes need it
        from litestar.handlers import BaseRouteHandler

        strangers = [
            route
            for route in given
            if not isinstance(route, BaseRouteHandler | Router)
            and not (isinstance(route, type) and issubclass(route, Controller))
        ]
        if strangers:
            told = "which is no Litestar handler (@get, @post, …), controller or router"
            raise EntitiesError([f"{name}: ROUTES holds {route!r}, {told}." for route in strangers])
    return given


def load_function(name: str) -> Callable[..., Any]:
    """Load the function named by ``module:function`` or ``file.py:function``. Raises EntitiesError."""
    module, _, attribute = name.rpartition(":")
    found = getattr(_module(module), attribute, None)
    if not callable(found):
        raise EntitiesError([f"{name} names no function."])
    return cast(Callable[..., Any], found)


def migration_folders(names: Sequence[str]) -> list[Path]:
    """Return the folders ``migrations`` next to modules outside this package, in the order of the setting.

    Tenantry writes new migrations to the last folder, so folders next to modules with only routes come first.
    """
    modules = [module for name in names if not _is_own(name) and (module := _module(name)).__file__]
    of_entities = dict.fromkeys(_folder_beside(module) for module in modules if hasattr(module, "ENTITIES"))
    others = dict.fromkeys(folder for module in modules if (folder := _folder_beside(module)) not in of_entities)
    return [*others, *of_entities]


def _folder_beside(module: ModuleType) -> Path:
    return Path(module.__file__ or "").resolve().parent / "migrations"


def _is_own(name: str) -> bool:
    return name.startswith(f"{OWN_PACKAGE}.") and not name.endswith(".py")


def _declared_in(module: ModuleType, name: str) -> Iterator[type[Struct]]:
    entities = getattr(module, "ENTITIES", None)
    if entities is None and hasattr(module, "ROUTES"):
        _ensure_none_left_out(module, name)
        entities = ()
    if not isinstance(entities, tuple | list):
        raise EntitiesError(
            [f"{name} has no ENTITIES, a tuple of the structs that it declares, and no ROUTES: one of them is needed."]
        )
    for entity in entities:
        if not (isinstance(entity, type) and issubclass(entity, Struct)):
            raise EntitiesError([f"{name}: ENTITIES holds {entity!r}, which is no msgspec Struct."])
    return iter(entities)


def _ensure_none_left_out(module: ModuleType, name: str) -> None:
    """Raises EntitiesError for declared entities without ENTITIES."""
    declared = [
        kind.__name__
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and "__entity__" in vars(kind)
    ]
    if declared:
        raise EntitiesError([f"{name} declares {', '.join(declared)} and has no ENTITIES: name them there."])


def _module(name: str) -> ModuleType:
    """Module of a path ending in .py, or of a name, searched in the working directory too."""
    try:
        return _from_file(Path(name)) if name.endswith(".py") else _imported(name)
    except EntitiesError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a user's file may raise anything, and is told where
        raise EntitiesError([f"{name} cannot be imported: {where_raised(error, name)}"]) from None


def _imported(name: str) -> ModuleType:
    # At the end of the path: a user's folder must not shadow a library.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Report the missing module imported by this module.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise EntitiesError([f"{name} is no module that can be imported."]) from None


def _from_file(path: Path) -> ModuleType:
    if not path.expanduser().is_file():
        raise EntitiesError([f"{path} is no file."])
    return import_file(path)


def where_raised(error: BaseException, name: str | None = None, libraries: tuple[str, ...] = LIBRARIES) -> str:
    """Return the error and the line that raised it, without a traceback; ``name`` is the imported module."""
    frames = traceback.extract_tb(error.__traceback__)
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) or not frames:
        return said
    # Report the last line in the user's code.
    of_module = _places(name)
    own = [line for line in frames if line.filename.startswith(of_module) or not line.filename.startswith(libraries)]
    frame = (own or frames)[-1]
    return f"{said} (line {frame.lineno} of {frame.filename})"


def _places(name: str | None) -> tuple[str, ...]:
    """Files of the module's package, which may be an installed library."""
    if name is None or name.endswith(".py") or _is_own(name):
        return ()
    found = importlib.util.find_spec(name.partition(".")[0])
    if found is None:
        return ()
    folders = tuple(f"{folder}/" for folder in found.submodule_search_locations or ())
    return folders or ((found.origin,) if found.origin else ())
