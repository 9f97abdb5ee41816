"""The public face of Tenantry: everything that a project imports.

Declarations (``entity``, ``ref``, ``unique``, …), rules (``OtherRows``, ``where``) and the errors that rules and
endpoints raise. Whatever is not in ``__all__`` may move without notice.
"""

from domain.entities.markers import big, entity, guarded, index, many, money, ref, unique
from domain.entities.query.query import Operator
from domain.entities.rules import OtherRows, where
from domain.errors import (
    BadRequest,
    Conflict,
    FieldError,
    Forbidden,
    NotFound,
    UnprocessableEntity,
    ValidationError,
)
from domain.scope import Caller

__all__ = [
    "BadRequest",
    "Caller",
    "Conflict",
    "FieldError",
    "Forbidden",
    "NotFound",
    "Operator",
    "OtherRows",
    "UnprocessableEntity",
    "ValidationError",
    "big",
    "entity",
    "guarded",
    "index",
    "many",
    "money",
    "ref",
    "unique",
    "where",
]
