"""The service as HTTP and JSON: a table of endpoints, and the one pipeline that every request goes through."""
