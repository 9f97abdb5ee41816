"""Entities as clients show them that know none beforehand: names, columns, widgets, and rules as data.

Here stands what follows from declarations alone; who may see what is decided in ``application``.
"""
