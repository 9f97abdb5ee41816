"""Pages of docs/reference, written from the code."""
