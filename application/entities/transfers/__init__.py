"""Files of rows: exports, imports, and the slots that bound how many run at a time. No format is read here."""
