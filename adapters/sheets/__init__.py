"""The formats of people: CSV and xlsx, read and written in processes of their own.

Nothing heavy is imported before a file comes, and never into the process that serves; nor is anything imported here,
for each of those processes would begin with it.
"""
