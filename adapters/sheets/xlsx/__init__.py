"""Reader of xlsx files: archive, XML parts, choice of the sheet, cells and their values.

All parts are streamed: only one row is in memory, and shared texts are on disk. `adapters/sheets/writer.py` writes
files.
"""
