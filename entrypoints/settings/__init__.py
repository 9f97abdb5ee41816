"""Settings: environment variables, read once at startup, and the files of DATA_DIR."""
