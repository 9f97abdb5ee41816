"""Operations with files in the document: an export in each of its formats, and the form of an import."""

from typing import Any

from litestar.openapi.spec import Operation

from domain.entities.sheets import FILE_FORMS

Json = dict[str, Any]

TYPES = {name: form.media_type for name, form in FILE_FORMS.items()}
_TEXT = {"type": "string"}
_YES = {"type": "boolean", "default": False}
IMPORT_FORM: Json = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "contentMediaType": "application/octet-stream",
            "description": "CSV, xlsx or Parquet.",
        },
        "options": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "mode": {"type": "string", "enum": ["create", "upsert"], "default": "create"},
                "key": _TEXT | {"description": "The unique field by which an upsert finds rows; a column of the file."},
                "atomic": _YES | {"description": "Any error stores nothing: 400 with the same list."},
                "dryRun": _YES | {"description": "Stores nothing, and reports what it would have."},
                "delimiter": _TEXT | {"minLength": 1, "maxLength": 1},
                "encoding": _TEXT | {"examples": ["utf-8", "windows-1252"]},
                "sheet": {"anyOf": [_TEXT, {"type": "integer", "minimum": 1}]},
                "timeZone": _TEXT
                | {"description": "Zone of date cells; UTC without it.", "examples": ["Europe/Berlin"]},
                "columns": {
                    "type": "object",
                    "additionalProperties": _TEXT,
                    "description": "From a column of the file to the property that it stands for.",
                },
            },
        },
    },
}


class FileOperation(Operation):
    """An export: rows in JSON have a schema, the other formats are text to the document."""

    def to_schema(self) -> Json:
        described = super().to_schema()
        response = described["responses"]["200"]
        in_json = next(iter(response["content"].values()))
        files = {kind: {"schema": _TEXT} for kind in TYPES.values() if kind != TYPES["json"]}
        response["content"] = files | {TYPES["json"]: in_json}
        return described


class FormOperation(Operation):
    """An import: its handler reads the form from the wire, so that Litestar sees no body to describe."""

    def to_schema(self) -> Json:
        form = {
            "schema": {"$ref": "#/components/schemas/ImportForm"},
            "encoding": {"options": {"contentType": "application/json"}},
        }
        body = {"required": True, "content": {"multipart/form-data": form}}
        return super().to_schema() | {"requestBody": body}
