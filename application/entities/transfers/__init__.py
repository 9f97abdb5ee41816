"""Exports and imports of rows as files, and the slots that limit their number. Adapters read and write the formats."""
