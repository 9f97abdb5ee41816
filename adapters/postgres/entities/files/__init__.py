"""COPY of rows to and from files."""
