"""Reader of xlsx files: an archive, its XML parts, the sheet that is meant, its cells, and what they become.

Everything streams: a row is in memory at a time, and texts that cells share wait on disk. Files are written by
`adapters/sheets/writer.py`.
"""
