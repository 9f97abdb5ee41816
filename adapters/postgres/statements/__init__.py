"""From SQLAlchemy Core statements to the text that asyncpg runs.

Every statement whose columns, tables, conditions or order vary is built with Core and compiled here. No statement is
pieced together from strings.
"""
