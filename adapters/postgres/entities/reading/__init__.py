"""SELECT statements over entities, and the JSON made of their rows."""
