"""CSV, xlsx and Parquet files, read and written by child processes.

Heavy libraries are imported only for a file, never into the serving process. This package imports nothing itself,
because every child process would import it too.
"""
