"""Use cases of area B: rows of any entity, one at a time, in batches and in files."""
