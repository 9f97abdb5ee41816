"""Pages of docs/reference, written from the code, and the site that is built from docs."""
