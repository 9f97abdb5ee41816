"""Contents of files: the detection of their types.

A type decides how a browser treats a download, so each signature has a check of the structure behind it.
"""
