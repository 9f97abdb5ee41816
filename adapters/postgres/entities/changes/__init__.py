"""The log of changes: its tables, the entries that writes add, the sequencer, and reads."""
