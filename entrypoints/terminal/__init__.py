"""The terminal: command answers as text or JSON, errors, progress, typed passwords. Command logic
does not belong here.
"""
