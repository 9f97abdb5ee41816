"""Descriptions of entities for generic clients: names, columns, widgets, and rules as data.

The service derives them only from declarations; ``application`` decides the content visible to each user.
"""
