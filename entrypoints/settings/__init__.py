"""Settings: environment variables, read once at start, and the files of DATA_DIR."""
