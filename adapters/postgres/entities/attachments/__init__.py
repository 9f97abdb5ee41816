"""Files of rows in PostgreSQL."""
