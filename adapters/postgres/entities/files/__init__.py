"""COPY of rows out to files and in from them."""
