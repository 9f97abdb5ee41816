"""The OpenAPI document, entity descriptions, and HTML pages with their assets."""
