"""Use cases of entities: rows of any entity, one at a time, in batches and in files."""
