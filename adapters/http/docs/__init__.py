"""The OpenAPI document and the HTML pages that the service serves, with their assets."""
