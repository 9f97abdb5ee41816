"""HTTP interface of the files of rows."""
