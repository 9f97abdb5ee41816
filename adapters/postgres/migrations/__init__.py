"""The way from an empty database to the declared one, and to the next declaration."""
