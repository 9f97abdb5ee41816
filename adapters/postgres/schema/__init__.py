"""Description of all tables, constraints and row-level security, used by migrations and statements."""
