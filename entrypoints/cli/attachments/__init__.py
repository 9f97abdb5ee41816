"""Commands for the files of rows."""
