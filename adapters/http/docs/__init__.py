"""The OpenAPI document, descriptions of entities, and the HTML pages that the service serves, with their assets."""
