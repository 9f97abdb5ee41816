"""Programs for work on this repository, none of which is in the wheel."""
