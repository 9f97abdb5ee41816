"""Query parameters shared by area A's lists, as described in the OpenAPI document."""

from adapters.http.request.rules import Parameter

# Only for the document: application/identity/administration/listing.py reads and validates these parameters.
IS_ACTIVE = Parameter("isActive", {"type": "boolean"})
PAGE_PARAMETERS = (
    Parameter("page", {"type": "integer", "minimum": 1, "default": 1}),
    Parameter("pageSize", {"type": "integer", "minimum": 1, "default": 20}, "More than 100 is 100."),
)
LIST_PARAMETERS = (
    *PAGE_PARAMETERS,
    Parameter("search", {"type": "string"}, "Every word must occur."),
    Parameter("sortBy", {"type": "string", "default": "createdAt"}, "A property's name."),
    Parameter("sortDirection", {"type": "string", "enum": ["asc", "desc"], "default": "desc"}),
)
USER_PARAMETERS = (
    *LIST_PARAMETERS,
    Parameter("role", {"type": "string"}, "Only holders of the role of this name."),
    IS_ACTIVE,
    Parameter(
        "id",
        {"type": "string"},
        "Only the users of these ids, up to 100 between commas; ids of nobody in the list are passed over.",
    ),
)
