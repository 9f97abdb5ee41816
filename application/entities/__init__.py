"""Use cases of entities: single rows, batches and files."""
