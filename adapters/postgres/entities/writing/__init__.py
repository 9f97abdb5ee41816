"""INSERT, UPDATE and DELETE statements over entities, and what they do to rows that refer to each other."""
