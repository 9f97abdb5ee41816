"""Ports of entities: rows, their history, their files and the stored responses of repeated requests."""
