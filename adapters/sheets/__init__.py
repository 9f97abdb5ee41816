"""CSV, xlsx and Parquet files, read and written by child processes.

Heavy libraries are imported when a file needs them, and never into the process that serves. This package imports
nothing itself: every child process would begin with it.
"""
